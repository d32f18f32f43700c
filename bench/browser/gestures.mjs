// Gestures on the page of a log, and how long each takes until its answer is on the screen.
//
// gestures.mjs RUNS LOG
//
// The variable WEIR_BINARY is the path of Weir. Prints JSON: the milliseconds of each run of each
// gesture, from the input event to the first task after the frame with the new numbers; how much
// the page jumps while the log is read; and what axe-core finds. The number of requests after each
// gesture is compared with the server's own report.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { launch } from "../../web/test-browser/support/browser.mjs";
import {
  altClick,
  byId,
  choose,
  conditionsOf,
  drag,
  numbers,
  row,
  settled,
} from "../../web/test-browser/support/page.mjs";
import { Server } from "../../web/test-browser/support/weir.mjs";

const VIEWPORT = { width: 1280, height: 900 };
/** Polls rarely, because polling every frame would itself request frames. */
const WAIT = { timeout: 30_000, polling: 50 };
const AXE = createRequire(new URL("../../web/package.json", import.meta.url)).resolve(
  "axe-core/axe.min.js",
);

/** Times one gesture inside the page: from an event of this type until its answer is drawn. */
function arm(type) {
  const { documentElement } = document;
  const before = Number(documentElement.dataset.query);
  window.gesture = { ms: null };
  let start_ms = null;
  const begin = (event) => {
    start_ms ??= event.timeStamp;
  };
  addEventListener(type, begin, { capture: true, once: true });
  const observer = new MutationObserver(() => {
    if (start_ms === null || Number(documentElement.dataset.query) <= before) return;
    observer.disconnect();
    // The next task comes after the frame in which the page was changed.
    setTimeout(() => {
      window.gesture.ms = performance.now() - start_ms;
    });
  });
  observer.observe(documentElement, { attributes: true, attributeFilter: ["data-query"] });
}

/** Does a gesture and returns its milliseconds. */
async function timed(page, type, act) {
  await page.evaluate(arm, type);
  await act();
  await page.waitForFunction(() => window.gesture.ms !== null, WAIT);
  return page.evaluate(() => window.gesture.ms);
}

/** Asserts that the page shows the number of requests that the server counts. */
async function check(page, server) {
  const [, session] = /\/s\/(\w+)/.exec(page.url());
  const conditions = conditionsOf(page).filter((argument) => argument !== "--where");
  const query = conditions.map((text) => `where=${encodeURIComponent(text)}`).join("&");
  const response = await fetch(new URL(`/api/sessions/${session}/report?${query}`, server.url));
  assert.equal((await numbers(page)).requests, (await response.json()).matching);
}

const clickOn = (field, value) => async (page) => (await row(page, field, value)).click();

const typed = (text) => async (page) => {
  await page.focus(byId("filter-box"));
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
};

/** The gestures: name, the event at which it begins, and what the person does. */
async function gestures(page) {
  const { tops } = await numbers(page);
  const second = (field) => tops[field][1][0];
  const network = `${second("client").split(".").slice(0, 2).join(".")}.0.0/16`;
  return [
    ["click on a client", "click", clickOn("client", second("client"))],
    ["click on a path", "click", clickOn("path", second("path"))],
    ["click on a status", "click", clickOn("status", second("status"))],
    [
      "Alt-click on a path",
      "click",
      async () => altClick(page, await row(page, "path", second("path"))),
    ],
    ["typed: status>=400", "submit", typed("status>=400")],
    ["typed: path~^/[a-m]", "submit", typed("path~^/[a-m]")],
    ["typed: user_agent~(?i)bot", "submit", typed("user_agent~(?i)bot")],
    ["typed: a network", "submit", typed(`client=${network}`)],
    ["zoom by a drag", "pointerup", async () => drag(page, 0.3, 0.6)],
    [
      "stack by method",
      "change",
      async () => page.select(byId("stack"), "method"),
      async () => page.select(byId("stack"), "status_class"),
    ],
    [
      "another time zone",
      "change",
      async () => page.select(byId("zone"), "UTC"),
      async () => page.select(byId("zone"), ""),
    ],
    [
      "50 rows of a list",
      "click",
      async () => (await page.$(`${byId("top-path")} .more button`)).click(),
      async () => (await page.$(`${byId("top-path")} .more button:last-of-type`)).click(),
    ],
  ];
}

/** Runs every gesture, and Escape after it, which undoes it. The first round does not count. */
async function measure(page, server, runs) {
  const measured = new Map();
  const note = (name, ms) => measured.set(name, [...(measured.get(name) ?? []), ms]);
  for (let round = 0; round <= runs; round += 1) {
    for (const [name, type, act, undo] of await gestures(page)) {
      const ms = await timed(page, type, () => act(page));
      await settled(page);
      if (round === 0 && undo === undefined) await check(page, server);
      // In the filter box Escape only clears the text.
      await page.evaluate(() => document.activeElement?.blur());
      const escape = undo ?? (() => page.keyboard.press("Escape"));
      const back_ms = await timed(page, undo ? type : "keydown", escape);
      await settled(page);
      if (round === 0) continue;
      note(name, ms);
      if (undo === undefined) note("Escape", back_ms);
    }
  }
  return Object.fromEntries(measured);
}

/** How much the page jumps while a log is read: Cumulative Layout Shift. */
async function shiftWhileReading(page, server, log) {
  await page.goto(server.url);
  await page.evaluate(() => {
    window.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  await choose(page, log);
  await settled(page);
  return page.evaluate(() => window.shift);
}

async function findings(page) {
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => (await window.axe.run()).violations.map(({ id }) => id));
}

const [runs, log] = process.argv.slice(2);
const { browser, close } = await launch("chromium");
const server = await Server.start();
try {
  const page = await browser.newPage();
  await page.setViewport(VIEWPORT);
  const shift = await shiftWhileReading(page, server, log);
  const { requests } = await numbers(page);
  const gestures_ms = await measure(page, server, Number(runs));
  const found = await findings(page);
  console.log(
    JSON.stringify({ version: await browser.version(), requests, shift, gestures_ms, findings: found }),
  );
} finally {
  await close();
  await server.end();
}
