// The same file twice, a source that is removed, and an upload that broke off.

import assert from "node:assert/strict";
import { byId, choose, numbers, settled, shows, until } from "../support/page.mjs";
import { fixture, report } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
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
    const [button] = await page.$$(byId("remove-source"));
    await button.click();
    assert.equal(await rows(page), 2, "the first press only asks");
    await button.click();
    await sourcesAre(page, 1);
    await shows(page, await report(OTHER));
    assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), "BODY");
  });

  define("after a reload an upload goes on when the file is added again", async (world) => {
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
  });
}
