// The upload of a large log: the picture grows, a lost connection resumes, a cancel ends it.

import assert from "node:assert/strict";
import { open, stat, writeFile } from "node:fs/promises";
import {
  atValue,
  byId,
  choose,
  numbers,
  openSources,
  settled,
  shows,
  until,
} from "../support/page.mjs";
import { CUT } from "../support/proxy.mjs";
import { report } from "../support/weir.mjs";

/**
 * The upload pauses after each such number of bytes. Two connections may be two messages of 32 MiB
 * ahead of the bytes that can be read in order, so every pause has something new to show.
 */
const PAUSE_BYTES = 100e6;

export function growing(define, shared) {
  define("the picture grows before the file ends", async (world) => {
    const { page } = world;
    const proxy = await world.startProxy();
    const { size } = await stat(shared.large);
    proxy.holdAt = PAUSE_BYTES;
    await page.goto(proxy.url);
    await page.waitForSelector(byId("file-input"));
    await page.evaluate(watch);
    await choose(page, shared.large);
    let pauses = 0;
    let drawn = 0;
    for (; proxy.holdAt < size; proxy.release(proxy.holdAt + PAUSE_BYTES)) {
      pauses += 1;
      await until(page, (least) => window.seen.at(-1)?.drawn > least, drawn);
      drawn = await page.evaluate(() => window.seen.at(-1).drawn);
    }
    await settled(page);
    // The picture that `settled` saw may be newer than the last recorded frame.
    await until(page, () => window.seen.at(-1).isComplete);
    const seen = await page.evaluate(() => window.seen);
    const before = seen.filter((one) => !one.isComplete);
    const distinct = (key) => new Set(before.map((one) => one[key])).size;
    for (const key of ["requests", "drawn", "bytes", "lines", "percent"]) {
      assert.ok(distinct(key) >= pauses, `${key} had ${distinct(key)} values before the end`);
    }
    for (const key of ["requests", "drawn", "bytes", "lines", "percent"]) {
      const values = seen.map((one) => one[key]);
      assert.deepEqual(
        values,
        [...values].sort((a, b) => a - b),
        `${key} went back`,
      );
    }
    assert.ok(
      before.some((one) => one.isLive),
      "the chart never showed that it was incomplete",
    );
    assert.ok(
      before.some((one) => /[kMG]B\/s/.test(one.rate)),
      "no speed was shown",
    );
    assert.equal(seen.at(-1).bytes, size);
    await shows(page, await reportOf(shared));
  });

  define(
    "an upload that loses its connection resumes where it was",
    async (world) => {
      const { page } = world;
      const proxy = await world.startProxy();
      const { size } = await stat(shared.large);
      proxy.cutAt = size / 2;
      await page.goto(proxy.url);
      await choose(page, shared.large);
      // The page reports the lost connection and keeps its numbers.
      await page.waitForSelector(`${byId("progress-row")}[data-state="interrupted"]`);
      await until(page, () =>
        /does not answer/.test(document.querySelector('[data-testid="banner"]')?.textContent ?? ""),
      );
      const { requests } = await numbers(page);
      assert.ok(requests > 0);
      assert.equal(await page.$(byId("session-complete")), null);
      // It breaks once more before it succeeds.
      proxy.restore({ cutAt: size / 4 });
      await proxy.until(() => proxy.cuts >= 2);
      proxy.restore();
      await settled(page);
      await page.waitForSelector(`${byId("progress-row")}[data-state="done"]`);
      assert.ok(proxy.received < size, "the file was sent from its begin");
      await shows(page, await reportOf(shared));
      assert.equal(await page.$(byId("banner")), null);
    },
    { allowed: CUT },
  );

  define(
    "a broken second connection neither loses nor duplicates lines",
    async (world) => {
      const { page } = world;
      const proxy = await world.startProxy();
      const { size } = await stat(shared.large);
      await page.goto(proxy.url);
      await choose(page, shared.large);
      // Within the part that both connections send.
      await proxy.until(() => proxy.uploads >= 2 && proxy.received >= size * 0.42);
      proxy.cutNewestUpload();
      await settled(page);
      await page.waitForSelector(`${byId("progress-row")}[data-state="done"]`);
      assert.equal(proxy.uploads, 0, "the connections are given back");
      await shows(page, await reportOf(shared));
    },
    { allowed: CUT },
  );

  define("a cancelled upload keeps the lines read so far", async (world) => {
    const { page, server } = world;
    const proxy = await world.startProxy();
    const { size } = await stat(shared.large);
    proxy.holdAt = size / 3;
    await page.goto(proxy.url);
    await choose(page, shared.large);
    await until(
      page,
      () => Number(document.querySelector('[data-testid="progress-bytes"]')?.dataset.bytes) > 50e6,
    );
    await openSources(page);
    const cancel = await page.waitForSelector("aria/Cancel large.log");
    await cancel.click();
    await page.waitForSelector(`${byId("progress-row")}[data-state="cancelled"]`);
    proxy.restore();
    await settled(page);
    const session = new URL(page.url()).pathname.slice("/s/".length);
    const kept = await server.report(session);
    assert.ok(
      kept.bytes_read > 50e6 && kept.bytes_read < size,
      `${kept.bytes_read} bytes were read`,
    );
    await shows(page, kept);
    // The lines that are kept are the first of the file, whole and each once.
    const part = world.path("part.log");
    await writeFile(part, await firstBytes(shared.large, kept.bytes_read));
    const incomplete = [{ source: "large.log", reason: "it was cancelled before its end" }];
    const whole = await report(part);
    const sources = [{ ...whole.sources[0], name: "large.log", complete: false }];
    assert.deepEqual({ ...whole, sources, incomplete }, kept);
  });

  define(
    "the page reports that the server is gone",
    async ({ page, server }) => {
      await page.goto(server.url);
      await choose(page, shared.large);
      await settled(page);
      const { requests } = await numbers(page);
      await server.end();
      // It may still have the time to report that the data set ends.
      await until(page, () =>
        /Weir does not answer|data set is gone/.test(
          document.querySelector('[data-testid="banner"]')?.textContent ?? "",
        ),
      );
      assert.equal((await numbers(page)).requests, requests);
      // A gesture would label old numbers with a new filter.
      const address = page.url();
      await page.click(byId("top-row"), atValue);
      await until(page, () =>
        [...document.querySelectorAll('[data-testid="banner"]')].some((banner) =>
          /nothing was changed/.test(banner.textContent),
        ),
      );
      assert.equal(page.url(), address);
      assert.equal(await page.$(byId("chip")), null);
      assert.equal((await numbers(page)).requests, requests);
    },
    { allowed: CUT },
  );

  define(
    "a missing data set is reported",
    async ({ page, server }) => {
      await page.goto(new URL(`/s/${"0".repeat(32)}`, server.url));
      await until(page, () =>
        /This data set is gone/.test(
          document.querySelector('[data-testid="banner"]')?.textContent ?? "",
        ),
      );
    },
    { allowed: [...CUT, /404/] },
  );
}

/** Returns the report of the large log, which is computed once. */
function reportOf(shared) {
  shared.report ??= report(shared.large);
  return shared.report;
}

async function firstBytes(path, length) {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer;
  } finally {
    await file.close();
  }
}

/** Records the numbers on the screen at every frame of the page. */
function watch() {
  window.seen = [];
  const one = (id) => document.querySelector(`[data-testid="${id}"]`);
  const look = () => {
    // The part of the page with the progress is loaded when it is shown first.
    if (one("total-requests") && one("progress-bytes")) {
      window.seen.push({
        requests: Number(one("total-requests").dataset.value),
        drawn: Number(one("chart")?.dataset.total ?? 0),
        bytes: Number(one("progress-bytes").dataset.bytes),
        lines: Number(one("progress-lines").dataset.lines),
        percent: Number(
          document.querySelector('[role="progressbar"]').getAttribute("aria-valuenow"),
        ),
        rate: document.querySelector(".progress-rate").textContent,
        isLive: document.querySelector(".tag.live") !== null,
        isComplete: one("session-complete") !== null,
      });
    }
    if (!window.seen.at(-1)?.isComplete) requestAnimationFrame(look);
  };
  look();
}
