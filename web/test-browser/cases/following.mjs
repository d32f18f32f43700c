// Growing logs: each appended line is on the page at once, and exactly once.

import assert from "node:assert/strict";
import { appendFile, readFile, rename, writeFile } from "node:fs/promises";
import { byId, dropFromDesktop, openSources, settled, shows, until } from "../support/page.mjs";
import { CUT } from "../support/proxy.mjs";
import { fixture, report } from "../support/weir.mjs";

/**
 * A line is seen after about 0.1 s, and after 1 s on a busy machine. The page asks in vain for no
 * longer than this, however slow the machine is.
 */
const SEEN_MS_MAX = 20_000;
const ELASTIC = fixture("apache-combined/elastic-first-2000.log");

export function following(define, { browserName }) {
  if (browserName !== "chromium") {
    define("a browser that cannot follow names the alternative", async ({ page, server }) => {
      await page.goto(server.url);
      await page.waitForSelector(byId("drop-zone"));
      assert.match(await page.$eval("main", (main) => main.textContent), /weir --follow FILE/);
      assert.equal(await page.$(byId("follow")), null);
    });
    return;
  }

  define(
    "a followed file shows appended lines, survives truncation, and ends with its last line",
    async (world) => {
      const { page, server } = world;
      const { lines, file } = await start(world, 100);
      await page.evaluateOnNewDocument(countMissing);
      await page.goto(server.url);
      await (await page.waitForSelector(byId("follow"))).click();
      await dropFromDesktop(page, file);
      await reads(page, 100);
      await page.waitForSelector(`${byId("progress-row")}[data-state="following"]`);
      // One line, and how long it takes to be seen.
      const times = [];
      for (let at = 100; at < 110; at += 1) {
        const seen = page.evaluate(seenAt, at + 1);
        const written_ms = Date.now();
        await appendFile(file, lines[at]);
        times.push((await seen) - written_ms);
      }
      times.sort((a, b) => a - b);
      console.log(`appended lines were seen after ${times.join(", ")} ms`);
      assert.ok(times[5] < SEEN_MS_MAX, `${times} ms`);
      // The second half of a line does not count as a line.
      await appendFile(file, lines[110].slice(0, 30));
      await appendFile(file, lines[110].slice(30) + lines[111].slice(0, 30));
      await reads(page, 111);
      // Written under load: every line, once.
      for (let at = 111; at < 1_000; at += 1) {
        await appendFile(file, at === 111 ? lines[at].slice(30) : lines[at]);
      }
      await reads(page, 1_000);
      // Truncated, as copytruncate does.
      await writeFile(file, lines.slice(1_000, 1_020).join(""));
      await reads(page, 1_020);
      await openSources(page);
      assert.match(
        await page.$eval(byId("sources"), (sources) => sources.innerText),
        /truncated or replaced/,
      );
      // Renamed, and created again.
      await rename(file, world.path("access.log.1"));
      await until(page, () => window.missed > 0);
      await writeFile(file, lines.slice(1_020, 1_030).join(""));
      await reads(page, 1_030);
      await appendFile(file, lines[1_030].trimEnd());
      await (await page.waitForSelector("aria/Stop following access.log")).click();
      await settled(page);
      const whole = world.path("whole.log");
      await writeFile(whole, lines.slice(0, 1_031).join(""));
      await shows(page, await report(whole));
      assert.equal(await page.$(`${byId("progress-row")}:not([data-state="done"])`), null);
    },
  );

  define(
    "a file that was read can be followed from its end, and a lost connection duplicates no line",
    async (world) => {
      const { page } = world;
      const proxy = await world.startProxy();
      const { lines, file } = await start(world, 50);
      await page.goto(proxy.url);
      await dropFromDesktop(page, file);
      await settled(page);
      await openSources(page);
      await (await page.waitForSelector("aria/Follow access.log")).click();
      await page.waitForSelector(`${byId("progress-row")}[data-state="following"]`);
      await appendFile(file, lines[50]);
      await reads(page, 51);
      proxy.cut();
      await appendFile(file, lines[51] + lines[52].slice(0, 20));
      await page.waitForSelector(`${byId("progress-row")}[data-state="interrupted"]`);
      proxy.restore();
      await reads(page, 52);
      await appendFile(file, lines[52].slice(20));
      await reads(page, 53);
      await (await page.waitForSelector("aria/Stop following access.log")).click();
      await settled(page);
      await shows(page, await report(file));
    },
    { allowed: CUT },
  );
}

/** Creates a file with the first lines of a real log; also returns all lines of the log. */
async function start(world, count) {
  const lines = (await readFile(ELASTIC, "utf8")).split(/(?<=\n)/);
  const file = world.path("access.log");
  await writeFile(file, lines.slice(0, count).join(""));
  return { lines, file };
}

/** Waits until this many lines of all sources are read; more would be duplicates. */
async function reads(page, count) {
  await until(
    page,
    (wanted) =>
      Number(document.querySelector('[data-testid="total-requests"]')?.dataset.value) >= wanted,
    count,
  );
  assert.equal(await page.$eval(byId("total-requests"), (one) => Number(one.dataset.value)), count);
}

/** Counts in the page how often a followed file did not exist when it was looked at. */
function countMissing() {
  window.missed = 0;
  const { getFile } = FileSystemFileHandle.prototype;
  FileSystemFileHandle.prototype.getFile = function () {
    return getFile.call(this).catch((error) => {
      window.missed += 1;
      throw error;
    });
  };
}

/** Waits in the page for a number of requests, and returns the time of the clock. */
function seenAt(count) {
  return new Promise((done) => {
    const look = () => {
      const value = Number(document.querySelector('[data-testid="total-requests"]')?.dataset.value);
      if (value >= count) done(Date.now());
      else requestAnimationFrame(look);
    };
    look();
  });
}
