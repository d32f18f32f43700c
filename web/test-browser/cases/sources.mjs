// The same file twice, a source that is removed, and an upload that broke off.

import assert from "node:assert/strict";
import { byId, choose, numbers, openSources, settled, shows, until } from "../support/page.mjs";
import { fixture, report } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const ONE_UNPARSED = fixture("apache-combined/elastic-near-8899.log");
const OTHER = fixture("nginx-combined/meatlabel.app.access.log-20251221");

const rows = (page) => page.$$eval(byId("progress-row"), (all) => all.length);

/** Waits until the page has this many sources, and all of them are read. */
async function sourcesAre(page, count) {
  await until(
    page,
    (wanted) => document.querySelectorAll('[data-testid="progress-row"]').length === wanted,
    count,
  );
  await settled(page);
}

/** Presses a button of the question about files that are there already. */
async function answer(page, text) {
  await page.waitForSelector(byId("duplicates"));
  await page.evaluate((wanted) => {
    const buttons = [...document.querySelectorAll('[data-testid="duplicates"] button')];
    buttons.find((button) => button.textContent === wanted).click();
  }, text);
  await page.waitForSelector(byId("duplicates"), { hidden: true });
}

export function sources(define, shared) {
  define("a second drop of a file asks what to do", async ({ page, server }) => {
    await page.goto(server.url);
    await choose(page, LOG);
    await settled(page);
    const once = await report(LOG);
    await choose(page, LOG);
    await answer(page, "Skip");
    assert.equal(await rows(page), 1);
    await choose(page, LOG);
    const removal = page.waitForResponse((response) => response.request().method() === "DELETE");
    await answer(page, "Replace");
    await removal;
    await sourcesAre(page, 1);
    await settled(page);
    await shows(page, once);
    await choose(page, LOG);
    await answer(page, "Keep both");
    await sourcesAre(page, 2);
    await settled(page);
    assert.equal((await numbers(page)).requests, 2 * once.matching);
  });

  define("a removed source leaves all numbers", async ({ page, server }) => {
    await page.goto(server.url);
    await choose(page, LOG);
    await settled(page);
    await choose(page, OTHER);
    await sourcesAre(page, 2);
    await openSources(page);
    const [button] = await page.$$(byId("remove-source"));
    await button.click();
    assert.equal(await rows(page), 2, "the first press only asks");
    await button.click();
    await sourcesAre(page, 1);
    await shows(page, await report(OTHER));
    assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), "BODY");
  });

  define(
    "after a reload an upload goes on when the file is added again",
    async (world) => {
      const { page, server } = world;
      await page.goto(server.url);
      await choose(page, shared.large);
      await until(page, () =>
        [...document.querySelectorAll('[data-testid="progress-bytes"]')].some(
          (bytes) => Number(bytes.dataset.bytes) > 0,
        ),
      );
      await page.reload();
      await page.waitForSelector(`${byId("progress-row")}[data-state="orphaned"]`);
      await choose(page, shared.large);
      await settled(page);
      assert.equal(await rows(page), 1);
      assert.equal((await numbers(page)).requests, (await report(shared.large)).matching);
    },
    // The reload may cut a connection that is being opened.
    { allowed: [/can.t establish a connection/, /was interrupted/] },
  );

  define(
    "the end of a name is seen, and only files with unparsed lines are listed",
    async (world) => {
      const { page, server } = world;
      await page.goto(server.url);
      await page.setViewport({ width: 800, height: 900 });
      await choose(page, OTHER, ONE_UNPARSED);
      await sourcesAre(page, 2);
      await openSources(page);
      const ends = await page.$$eval(".progress-name-end", (all) =>
        all.map((end) => {
          const { left, right } = end.getBoundingClientRect();
          const name = end.closest(".progress-name").getBoundingClientRect();
          return {
            text: end.textContent,
            isSeen: left >= name.left - 1 && right <= name.right + 1,
          };
        }),
      );
      assert.ok(
        ends.some(({ text }) => text.endsWith("20251221")),
        JSON.stringify(ends),
      );
      for (const end of ends) assert.ok(end.isSeen, JSON.stringify(end));
      await page.keyboard.press("Escape");
      await page.click(`.figure:has(${byId("total-unparsed")}) button`);
      await page.waitForSelector(byId("samples"));
      const listed = await page.$$eval(`${byId("samples")} .detected`, (all) =>
        all.map((one) => one.textContent),
      );
      assert.equal(listed.length, 1);
      assert.match(listed[0], /elastic-near-8899.*: 1 of 41 do not match/);
    },
  );
}
