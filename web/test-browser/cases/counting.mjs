// The page of calls: those of marked functions, hostile names, none and too many.

import assert from "node:assert/strict";
import { answer, fits, look, readable } from "../support/admin.mjs";
import { until } from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const HOSTILE = "<img src=x onerror=alert(1)>::run";
const MANY = 300;

export function counting(define) {
  define("calls are counted, sorted and opened by the keyboard", async (world) => {
    const { page } = world;
    await look(world, LOG);
    const call = (number, caller) => ({
      ...(caller === undefined ? {} : { caller }),
      name: number === 0 ? HOSTILE : `module_${number}::${"long".repeat(number % 40)}`,
      calls: number + 1,
      own: number / 1000,
      accumulated: number / 500,
    });
    const calls = Array.from({ length: MANY }, (_, number) => call(number));
    calls.push(call(0, "module_7::caller"));
    await answer(page, "/profile/calls.json", { seconds: 1, calls });
    await page.goto(new URL("/calls", world.server.url));
    await page.waitForSelector("#start");
    await page.focus("#seconds");
    await page.keyboard.press("Enter");
    await until(page, says, `of ${MANY.toLocaleString("en")} functions in 1.0 s`);
    assert.equal(await page.$$eval("#functions tbody tr", (rows) => rows.length), MANY);
    await page.focus("th[data-key='name'] .sort");
    await page.keyboard.press("Enter");
    assert.equal(
      await page.$eval("#functions tbody tr:first-child .open", (button) => button.textContent),
      HOSTILE,
    );
    assert.equal(await sorted(page, "name"), "ascending");
    await page.focus("#functions tbody tr:first-child .open");
    await page.keyboard.press("Enter");
    const related = await page.$$eval("#functions .related td:first-child", (cells) =>
      cells.map((cell) => cell.textContent),
    );
    assert.deepEqual(related, ["called by no marked function", "called by module_7::caller"]);
    // The button that was pressed keeps the focus, and closes what it has opened.
    await page.keyboard.press("Enter");
    assert.equal(await page.$("#functions .related"), null);
    assert.equal(await page.$("#functions img"), null, "names are text");
    await readable(page);
    await fits(page);
  });

  define("a count without calls says so", async (world) => {
    const { page } = world;
    await look(world);
    await answer(page, "/profile/calls.json", { seconds: 1, calls: [] });
    await page.goto(new URL("/calls", world.server.url));
    await page.waitForSelector("#start");
    await page.click("#start");
    await until(page, says, "No marked function was called");
    assert.equal(await page.$("#found"), null);
    await readable(page);
    await fits(page);
  });

  define("calls of the program itself are counted", async (world) => {
    const { page } = world;
    await look(world, LOG);
    await page.goto(new URL("/calls", world.server.url));
    await page.waitForSelector("#start");
    await page.$eval("#seconds", (input) => (input.value = "1"));
    await page.click("#start");
    await until(page, isDone);
    assert.ok(await page.$eval("#message", (message) => !message.classList.contains("bad")));
    assert.notEqual(await page.$eval("#message", (message) => message.textContent), "");
    await readable(page);
  });
}

const says = (part) => document.querySelector("#message").textContent.includes(part);
const isDone = () => {
  const said = document.querySelector("#message").textContent !== "";
  return said && !document.querySelector("#start").disabled;
};
const sorted = (page, key) =>
  page.$eval(`th[data-key='${key}']`, (head) => head.getAttribute("aria-sort"));
