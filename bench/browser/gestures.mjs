// Gestures on the page of a log, and how long each takes until its answer is on the screen.
//
// gestures.mjs RUNS LOG BROWSER
//
// BROWSER is chromium or firefox, and the variable WEIR_BINARY the path of Weir. Prints JSON: the
// milliseconds of each run of each gesture, from the input event to the first task after the frame
// with the new numbers, and to the frame after which no list is awaited any more; how much the page
// jumps while the log is read and its heap, in Chromium; and what axe-core finds. The number of
// requests after each gesture is compared with the server's own report.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { launch } from "../../web/test-browser/support/browser.mjs";
import { choose, conditionsOf, numbers, settled } from "../../web/test-browser/support/page.mjs";
import { Server } from "../../web/test-browser/support/weir.mjs";
import { gesturesOf } from "./gesture_list.mjs";

const VIEWPORT = { width: 1280, height: 900 };
/** Polls rarely, because polling every frame would itself request frames. */
const WAIT = { timeout: 30_000, polling: 50 };
const AXE = createRequire(new URL("../../web/package.json", import.meta.url)).resolve(
  "axe-core/axe.min.js",
);

/**
 * Times one gesture inside the page: from an event of this type until its answer is drawn, and until
 * all lists are. A gesture that asks nothing anew is done when `shown` matches an element.
 */
function arm(type, shown) {
  const { documentElement } = document;
  const before = Number(documentElement.dataset.query);
  const gesture = { ms: null, all_ms: null };
  window.gesture = gesture;
  let start_ms = null;
  const isAnswered = () =>
    shown === null
      ? Number(documentElement.dataset.query) > before
      : document.querySelector(shown) !== null;
  const isSettled = () =>
    document.querySelector(".dashboard")?.getAttribute("aria-busy") === "false" &&
    document.querySelector('.top-list [aria-busy="true"]') === null;
  const look = () => {
    if (start_ms === null || !isAnswered()) return;
    // A view changes the page in a frame, and the next task comes after it.
    if (gesture.ms === null) {
      gesture.ms = 0;
      setTimeout(() => {
        gesture.ms = performance.now() - start_ms;
      });
    }
    if (!isSettled()) return;
    observer.disconnect();
    // Lists change the page in a task of their own.
    requestAnimationFrame(() =>
      setTimeout(() => {
        gesture.all_ms = performance.now() - start_ms;
      }),
    );
  };
  const observer = new MutationObserver(look);
  addEventListener(type, (event) => (start_ms ??= event.timeStamp), { capture: true, once: true });
  observer.observe(documentElement, { attributes: true, childList: true, subtree: true });
}

/** Does a gesture and returns its milliseconds. */
async function timed(page, type, shown, act) {
  await page.evaluate(arm, type, shown);
  await act(page);
  await page.waitForFunction(() => window.gesture.all_ms !== null, WAIT);
  const { ms, all_ms } = await page.evaluate(() => window.gesture);
  await settled(page);
  return { ms: shown === null ? ms : all_ms, all_ms };
}

/** Asserts that the page shows the number of requests that the server counts. */
async function check(page, server) {
  const [, session] = /\/s\/(\w+)/.exec(page.url());
  const conditions = conditionsOf(page).filter((argument) => argument !== "--where");
  const query = conditions.map((text) => `where=${encodeURIComponent(text)}`).join("&");
  const response = await fetch(new URL(`/api/sessions/${session}/report?${query}`, server.url));
  assert.equal((await numbers(page)).requests, (await response.json()).matching);
}

/** Runs every gesture, and what undoes it. The first round does not count. */
async function measure(page, server, runs) {
  const measured = { drawn: new Map(), all: new Map() };
  const note = (name, { ms, all_ms }) => {
    for (const [map, value] of [
      [measured.drawn, ms],
      [measured.all, all_ms],
    ])
      map.set(name, [...(map.get(name) ?? []), value]);
  };
  const gestures = gesturesOf(await numbers(page));
  for (let round = 0; round <= runs; round += 1) {
    for (const { name, type, act, shown = null, undo, gone = null } of gestures) {
      const times = await timed(page, type, shown, act);
      if (round === 0 && undo === undefined) await check(page, server);
      // In the filter box Escape only clears the text.
      await page.evaluate(() => document.activeElement?.blur());
      const back = undo
        ? await timed(page, type, gone, undo)
        : await timed(page, "keydown", null, (page) => page.keyboard.press("Escape"));
      if (round === 0) continue;
      note(name, times);
      if (undo === undefined) note("Escape", back);
    }
  }
  return { drawn: Object.fromEntries(measured.drawn), all: Object.fromEntries(measured.all) };
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

/** The heap of the script of a page, in bytes. */
async function heapOf(page) {
  const session = await page.createCDPSession();
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

async function findings(page) {
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => (await window.axe.run()).violations.map(({ id }) => id));
}

const [runs, log, browserName] = process.argv.slice(2);
const { browser, close } = await launch(browserName);
const isChromium = browserName === "chromium";
const server = await Server.start();
try {
  const page = await browser.newPage();
  await page.setViewport(VIEWPORT);
  const shift = await shiftWhileReading(page, server, log);
  const { requests } = await numbers(page);
  const times = await measure(page, server, Number(runs));
  const result = {
    version: await browser.version(),
    requests,
    gestures_ms: times.drawn,
    all_lists_ms: times.all,
    findings: await findings(page),
    // Firefox reports neither.
    ...(isChromium && { shift, heap_bytes: await heapOf(page) }),
  };
  console.log(JSON.stringify(result));
} finally {
  await close();
  await server.end();
}
