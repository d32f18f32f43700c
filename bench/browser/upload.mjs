// A log chosen on Weir's page, and on a bare page whose server only acknowledges, in turn.
//
// upload.mjs BROWSER RUNS LOG ACKNOWLEDGE
//
// BROWSER is chromium or firefox, ACKNOWLEDGE the program of bench/contenders, and the variable
// WEIR_BINARY the path of Weir. Prints JSON for each run after the first: the seconds until all is
// parsed and the last view is on the screen, the milliseconds until the first picture, and the
// seconds of the bare page. Every number on Weir's page is compared with `weir report`.

import assert from "node:assert/strict";
import { realpath, stat } from "node:fs/promises";
import { choose, shows } from "../../web/test-browser/support/page.mjs";
import { launch } from "../../web/test-browser/support/browser.mjs";
import { Server, report } from "../../web/test-browser/support/weir.mjs";
import { Acknowledger, serveBarePage } from "./bare.mjs";

const VIEWPORT = { width: 1280, height: 900 };
/** Otherwise the browser reports every WebSocket message to this script, with its bytes. */
const UNWATCHED = { networkEnabled: false };
/** The slowest run takes about ten seconds for a gigabyte. */
const WAIT = { timeout: 55_000, polling: 100 };

/** Records the times of the first picture and of the end, inside the page. */
function watch() {
  const one = (selector) => document.querySelector(selector);
  const isDone = () => {
    const { complete, sources } = document.documentElement.dataset;
    const rows = document.querySelectorAll('[data-testid="progress-row"]').length;
    const isAnswered = one(".dashboard")?.getAttribute("aria-busy") === "false";
    return isAnswered && complete === "true" && rows > 0 && Number(sources) === rows;
  };
  // The time at which the frame with the present content is drawn.
  const note = (what) => {
    if (window.timed[what] !== undefined) return;
    window.timed[what] = null;
    requestAnimationFrame(() => requestAnimationFrame(() => (window.timed[what] = performance.now() - window.timed.start)));
  };
  const look = () => {
    const total = Number(one('[data-testid="chart"]')?.dataset.total ?? 0);
    if (total > 0) note("picture");
    if (isDone()) note("done");
  };
  const begin = (event) => {
    if (event.target.type !== "file" || window.timed) return;
    window.timed = { start: performance.now() };
    // Checking every frame would itself request frames.
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
  };
  addEventListener("change", begin, { capture: true });
}

/** Runs `body` on a new page. */
async function onPage(browser, body) {
  const context = await browser.createBrowserContext();
  try {
    const page = await context.newPage();
    await page.setViewport(VIEWPORT);
    return await body(page);
  } finally {
    await context.close();
  }
}

async function onWeir(browser, log, expected) {
  const server = await Server.start();
  try {
    return await onPage(browser, async (page) => {
      await page.evaluateOnNewDocument(watch);
      await page.goto(server.url);
      await choose(page, log);
      await page.waitForFunction(() => window.timed?.done > 0, WAIT);
      await shows(page, expected);
      const { done, picture } = await page.evaluate(() => window.timed);
      return { seconds: done / 1e3, picture_ms: picture };
    });
  } finally {
    await server.end();
  }
}

async function onBarePage(browser, log, url) {
  const { size } = await stat(log);
  return onPage(browser, async (page) => {
    await page.goto(url);
    const input = await page.waitForSelector("input:not([disabled])");
    await input.uploadFile(log);
    await page.waitForFunction(() => window.timed !== undefined, WAIT);
    const { seconds, acknowledged } = await page.evaluate(() => window.timed);
    assert.equal(acknowledged, size);
    return seconds;
  });
}

async function main(name, runs, path, program) {
  const log = await realpath(path);
  const expected = await report(log);
  const acknowledger = await Acknowledger.start(program);
  const bare = await serveBarePage(acknowledger.url);
  const { browser, close } = await launch(name, UNWATCHED);
  const found = { version: await browser.version(), weir: [], bare: [] };
  try {
    for (let run = 0; run <= runs; run += 1) {
      const weir = await onWeir(browser, log, expected);
      const seconds = await onBarePage(browser, log, bare.url);
      // The first run is not recorded.
      if (run === 0) continue;
      found.weir.push(weir);
      found.bare.push(seconds);
    }
  } finally {
    await close();
    bare.end();
    acknowledger.end();
  }
  console.log(JSON.stringify(found));
}

const [name, runs, log, program] = process.argv.slice(2);
await main(name, Number(runs), log, program);
