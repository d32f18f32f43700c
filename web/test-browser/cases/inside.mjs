// The pages of the admin address: live numbers, the keyboard, hostile names, both themes.

import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { look, readable } from "../support/admin.mjs";
import { until } from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const HOSTILE = "<img src=x onerror=alert(1)>.log";

export function inside(define) {
  define("the page of the route has live numbers and hostile names as text", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await page.goto(world.server.url);
    await until(page, showsText, "#route", HOSTILE);
    await until(page, showsText, "#route", "2,000");
    assert.equal(await page.$("#route img"), null);
    await readable(page);
  });

  define("the page of tasks is live, and sorted and opened by the keyboard", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await page.goto(new URL("/tasks", world.server.url));
    await until(page, showsText, "#tasks tbody", "connection");
    await until(page, showsText, "#threads tbody", "weir-parse-0");
    // Rates come with the second look.
    await until(page, showsText, "#tasks tbody", "%");
    await page.focus("#tasks th[data-key='age'] button");
    for (const order of ["descending", "ascending"]) {
      await page.keyboard.press("Enter");
      await until(page, isSorted, "age", order);
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Age");
    }
    await readable(page);
    await page.focus("#threads tbody button");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#detail[open] .chart");
    await page.focus("#stack");
    await page.keyboard.press("Enter");
    await until(page, hasStack);
    await readable(page);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#detail:not([open])");
    await page.type("#find", "no task has this name");
    await until(page, showsText, "#tasks tbody", "None.");
  });

  define("the page of profiles can be read in both themes", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await page.goto(new URL("/profile", world.server.url));
    await page.waitForSelector("#pages a[aria-current='page']");
    await readable(page);
  });
}

/** Opens the admin address of a server with a hostile name of a file. */
async function lookAtFile(world) {
  const log = world.path(HOSTILE);
  await copyFile(LOG, log);
  await look(world, log);
}

function showsText(selector, text) {
  return document.querySelector(selector)?.textContent?.includes(text) ?? false;
}

function hasStack() {
  const text = document.getElementById("stack-text").textContent;
  return text.includes("::") && !text.startsWith("There is no stack");
}

/** Whether the tasks are in the order of this column, which says so. */
function isSorted(key, order) {
  const head = document.querySelector(`#tasks th[data-key='${key}']`);
  if (head.getAttribute("aria-sort") !== order) return false;
  const seconds = (text) => {
    const [value, unit] = text.split(" ");
    return Number(value) * { ms: 0.001, s: 1, min: 60, h: 3600 }[unit];
  };
  const rows = [...document.querySelectorAll("#tasks tbody tr")];
  const ages = rows.map((row) => seconds(row.cells[head.cellIndex].textContent));
  const sign = order === "ascending" ? 1 : -1;
  return ages.length > 1 && ages.every((age, at) => at === 0 || sign * (age - ages[at - 1]) >= 0);
}
