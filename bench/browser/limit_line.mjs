// Drags the limit line of the rules panel, and measures each step until it is painted.
//
// limit_line.mjs DRAGS REQUESTS CLIENTS FOLDER
//
// The variable WEIR_BINARY is the path of Weir. Writes a log of that many requests and clients into
// the folder. Prints JSON: the milliseconds of each step of each drag, from the input event to the
// first task after the frame that shows it. After each drag, what the page shows is compared with
// the answer that the server then gives.

import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { once } from "node:events";
import { launch } from "../../web/test-browser/support/browser.mjs";
import { byId, choose, settled } from "../../web/test-browser/support/page.mjs";
import { Server } from "../../web/test-browser/support/weir.mjs";

const VIEWPORT = { width: 1280, height: 900 };
const WAIT = { timeout: 120_000, polling: 100 };
/** The steps of a drag, with a frame between them as a hand makes them. */
const STEPS = 60;
const RULE = `limit_req_zone $binary_remote_addr zone=one:10m rate=6r/m;
limit_req zone=one burst=10;`;
/** The time of the log, in seconds. */
const SECONDS = 3_600;

/** Writes requests of clients, of which a few send most. */
async function write(path, requests, clients) {
  const file = createWriteStream(path);
  let state = 7;
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const address = (client) => `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
  const two = (number) => String(number).padStart(2, "0");
  let text = "";
  for (let number = 0; number < requests; number += 1) {
    const second = Math.floor((number * SECONDS) / requests);
    const time = `22/Nov/2026:10:${two(Math.floor(second / 60))}:${two(second % 60)} +0000`;
    // Each client at least once; the others are skewed to low numbers.
    const client = number < clients ? number : Math.floor(clients * draw() ** 3);
    text += `${address(client)} - - [${time}] "GET /${number % 97} HTTP/1.1" 200 512 "-" "Mozilla/5.0"\n`;
    if (text.length > 1 << 20) {
      if (!file.write(text)) await once(file, "drain");
      text = "";
    }
  }
  file.end(text);
  await once(file, "finish");
}

/** Measures every step inside the page: from its event until the task after the frame with it. */
function arm() {
  window.steps_ms = [];
  const { port1, port2 } = new MessageChannel();
  let waiting = [];
  port1.onmessage = () => {
    const now = performance.now();
    window.steps_ms.push(...waiting.map((start) => now - start));
    waiting = [];
  };
  const line = () => document.querySelector('[data-testid="limit-line"]');
  const shown = () => line().getAttribute("aria-valuenow");
  let before = shown();
  addEventListener(
    "pointermove",
    ({ timeStamp, buttons }) => {
      if (buttons === 0) return;
      // The page changes in a later task or in the frame; the next one has been painted with it.
      const check = () => {
        if (shown() === before) return false;
        before = shown();
        waiting.push(timeStamp);
        port2.postMessage(null);
        return true;
      };
      requestAnimationFrame(() => check() || requestAnimationFrame(check));
    },
    { capture: true },
  );
}

const state = (page) =>
  page.evaluate(() => ({
    text: document.querySelector('[data-testid="limit-text"]').textContent,
    busy: document.querySelector('[data-testid="rules-answer"]').ariaBusy,
  }));

async function drag(page, from, to) {
  const frame = await page.$(".limit-frame");
  await frame.scrollIntoView();
  const box = await frame.boundingBox();
  const x = (share) => box.x + share * box.width;
  const y = box.y + box.height / 2;
  await page.mouse.move(x(from), y);
  await page.mouse.down();
  for (let step = 1; step <= STEPS; step += 1) {
    await page.mouse.move(x(from + ((to - from) * step) / STEPS), y);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  const { text } = await state(page);
  await page.mouse.up();
  // Each new answer shows the burst of the text, which the page rewrote.
  await page.waitForFunction(
    () => document.querySelector('[data-testid="rules-answer"]')?.ariaBusy === "false",
    WAIT,
  );
  assert.equal((await state(page)).text, text, "the server agrees with the page");
}

const [drags, requests, clients, folder] = process.argv.slice(2);
const log = join(folder, `limit-line-${requests}-${clients}.log`);
await write(log, Number(requests), Number(clients));
const { browser, close } = await launch("chromium");
const server = await Server.start();
try {
  const page = await browser.newPage();
  await page.setViewport(VIEWPORT);
  await page.goto(server.url);
  await choose(page, log);
  await settled(page);
  await page.click(byId("rules-open"));
  await page.waitForSelector(byId("rule-box"), WAIT);
  await page.type(byId("rule-box"), RULE);
  await page.click(byId("rule-try"));
  await page.waitForSelector(byId("limit-line"), WAIT);
  await page.evaluate(arm);
  await drag(page, 0.9, 0.2);
  await page.evaluate(() => (window.steps_ms.length = 0));
  for (let number = 0; number < Number(drags); number += 1) {
    await drag(page, ...(number % 2 === 0 ? [0.2, 0.9] : [0.9, 0.2]));
  }
  const steps_ms = await page.evaluate(() => window.steps_ms);
  const seen = await page.$eval(byId("rule-sentence"), (line) => line.textContent);
  console.log(JSON.stringify({ version: await browser.version(), seen, steps_ms }));
} finally {
  await close();
  await server.end();
}
