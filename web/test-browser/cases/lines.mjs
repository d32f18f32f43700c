// The lines of a selection, and the story of one client.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { findings } from "../support/axe.mjs";
import {
  byId,
  catchCopies,
  chips,
  choose,
  lastCopy,
  row,
  settled,
  storyEnds,
  until,
} from "../support/page.mjs";
import { BINARY, fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");

/** The lines of a log with a status. */
async function withStatus(status) {
  const text = await readFile(LOG, "utf8");
  return text.split("\n").filter((line) => line.includes(`" ${status} `));
}

/** Waits until the list has this many lines, and those on the screen are read, not only fetched. */
const listed = (page, total) =>
  until(
    page,
    (total) => {
      const list = document.querySelector('[data-testid="line-rows"]');
      const lines = [...document.querySelectorAll('[data-testid="line"] .line-text')];
      const isRead = (line) => line.textContent !== "…" && !line.querySelector(".line-fields");
      const areRead = lines.length > 0 && lines.every(isRead);
      return list?.dataset.total === String(total) && areRead;
    },
    total,
  );

/** The lines on the screen, with their numbers. */
const linesOf = (page) =>
  page.$$eval(byId("line"), (lines) =>
    lines.map((line) => [
      Number(line.getAttribute("aria-rowindex")),
      line.querySelector(".line-text").textContent,
    ]),
  );

async function opened({ page, server }) {
  await catchCopies(page);
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

export function lines(define) {
  define("the lines of a filter are those of the file", async (world) => {
    const { page } = world;
    await opened(world);
    const expected = await withStatus("404");
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await page.click(byId("lines-open"));
    await listed(page, expected.length);
    const first = await linesOf(page);
    assert.ok(first.length > 5);
    for (const [number, text] of first) assert.equal(text, expected[number - 1], number);
    // Keys reach the last line, and come back.
    await page.focus(byId("line-rows"));
    await page.keyboard.press("End");
    await listed(page, expected.length);
    const last = (await linesOf(page)).at(-1);
    assert.deepEqual(last, [expected.length, expected.at(-1)]);
    const active = await page.$eval(byId("line-rows"), (list) =>
      list.getAttribute("aria-activedescendant"),
    );
    assert.equal(await page.$eval(`#${active} .line-text`, (line) => line.textContent), last[1]);
    await page.keyboard.press("Home");
    await listed(page, expected.length);
    assert.deepEqual((await linesOf(page))[0], [1, expected[0]]);
    assert.deepEqual(await findings(page), []);
    // What is copied is the same, and so is what the copied command prints.
    await page.click(byId("lines-copy"));
    assert.equal(await lastCopy(page, 1), expected.map((line) => `${line}\n`).join(""));
    await page.click(byId("lines-command"));
    const command = await lastCopy(page, 2);
    const shell = command.replace(/^weir /, `${BINARY} `);
    const { stdout } = await promisify(execFile)("sh", ["-c", shell], { cwd: dirname(LOG) });
    assert.equal(stdout, expected.map((line) => `${line}\n`).join(""));
    // Another filter is another list, which begins at its first line.
    await page.focus(byId("line-rows"));
    await page.keyboard.press("End");
    await page.keyboard.press("Escape");
    await chips(page, 0);
    await listed(page, 2000);
    assert.equal((await linesOf(page))[0][0], 1);
  });

  define("the story of a client can be shared and left", async (world) => {
    const { page } = world;
    await opened(world);
    const first = await page.$(`${byId("top-client")} ${byId("top-row")}`);
    const { value, count } = await first.evaluate(({ dataset }) => ({ ...dataset }));
    await first.hover();
    await (await page.waitForSelector(byId("story-open"))).click();
    const told = (page) =>
      until(
        page,
        (client, count) =>
          document.querySelector('[data-testid="story"]')?.dataset.client === client &&
          document.querySelector('[data-testid="story-totals"]')?.dataset.requests === count,
        value,
        count,
      );
    await told(page);
    await listed(page, count);
    for (const [, text] of await linesOf(page)) assert.ok(text.startsWith(`${value} `), text);
    assert.deepEqual(await findings(page), []);
    const address = page.url();
    assert.ok(address.includes(`story=${value}`), address);
    await page.keyboard.press("Escape");
    await storyEnds(page);
    await page.goForward();
    await told(page);
    const other = await world.newPage();
    await other.goto(address);
    await told(other);
    // This page does not have the file.
    await other.waitForSelector(byId("lines-message"));
    await other.click(byId("story-filter"));
    await chips(other, 1);
    assert.equal(await other.$(byId("story")), null);
    await other.close();
  });

  const onDisk = { args: [LOG] };
  const read = async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await settled(page);
    await page.click(byId("lines-open"));
    await listed(page, 2000);
    const text = await readFile(LOG, "utf8");
    assert.equal((await linesOf(page))[0][1], text.split("\n")[0]);
    // A line leads to the story of its client.
    await page.click(`${byId("line-whole")} ${byId("story-open")}`);
    await page.waitForSelector(byId("story-totals"));
  };
  define("lines on the disk of the server are read from there", read, onDisk);
}
