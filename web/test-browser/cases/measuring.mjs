// `weir bench upload`: the page that measures how fast the browser uploads.

import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { byId, until } from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const WAYS = ["read", "plain", "discarded", "parsed"];
const BENCH = { command: ["bench", "upload"] };
const HOSTILE_NAME = "<img src=x onerror=window.hit=1>.log";

export function measuring(define) {
  define(
    "uploads are measured in every way, with a log generated in memory",
    async ({ page, server }) => {
      await page.goto(server.url);
      await page.select(await waitFor(page, "bench-size"), "256");
      await page.click(byId("bench-sample"));
      await until(
        page,
        () => Number(document.querySelector('[data-testid="bench-read"]')?.dataset.rate) > 0,
      );
      assert.equal(
        await page.$eval(byId("bench-sample"), (button) => button.disabled),
        true,
        "one at a time",
      );
      await finished(page);
      for (const way of WAYS) {
        const { state, rate } = await page.$eval(byId(`bench-${way}`), (row) => ({
          ...row.dataset,
        }));
        assert.equal(state, "done", way);
        assert.ok(Number(rate) > 1e6, `${way}: ${rate} bytes a second`);
      }
      for (const way of ["discarded", "parsed"]) {
        const text = await page.$eval(byId(`bench-${way}`), (row) => row.textContent);
        assert.match(
          text,
          /chose messages of \d+ MiB, \d in flight, (one connection|two connections)/,
        );
      }
      const verdict = await page.$eval(byId("bench-verdict"), (one) => one.textContent);
      assert.match(
        verdict,
        /^This browser uploads [\d.]+ [MG]B\/s: .*With every line parsed it is [\d.]+ [MG]B\/s\.$/,
      );
      assert.equal(await page.$(byId("bench-failure")), null);
    },
    BENCH,
  );

  define(
    "a file of any name can be measured, and an empty one is refused",
    async (world) => {
      const { page, server } = world;
      await page.goto(server.url);
      const input = await page.waitForSelector(byId("bench-file-input"));
      const file = world.path(HOSTILE_NAME);
      await copyFile(fixture("apache-combined/elastic-first-2000.log"), file);
      await input.uploadFile(file);
      await finished(page);
      const text = await page.$eval(".bench-file", (line) => line.textContent);
      assert.ok(text.includes(HOSTILE_NAME), text);
      assert.equal(await page.evaluate(() => window.hit), undefined);
      await input.uploadFile("/dev/null");
      const why = await page.waitForSelector(byId("bench-failure"));
      assert.match(await why.evaluate((one) => one.textContent), /empty/);
    },
    BENCH,
  );

  define("the page of a log measures nothing", async ({ server }) => {
    const { status } = await fetch(new URL("/bench/upload", server.url));
    assert.equal(status, 404);
  });
}

async function waitFor(page, id) {
  await page.waitForSelector(byId(id));
  return byId(id);
}

function finished(page) {
  return until(page, () => {
    const isBusy = document.querySelector(".bench-results")?.getAttribute("aria-busy");
    return (
      isBusy === "false" &&
      document.querySelector('[data-testid="bench-verdict"]').textContent !== ""
    );
  });
}
