// Access for everyone: no finding of axe-core, the focus is kept, and nothing jumps.

import assert from "node:assert/strict";
import { findings, isNotCovered } from "../support/axe.mjs";
import { byId, chips, choose, openSources, row, settled, until } from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const MANY = [21, 22, 25, 30, 31].map((day) =>
  fixture(`nginx-combined/meatlabel.app.access.log-202512${day}`),
);
/** A page with a larger layout shift counts as one that jumps. */
const SHIFT_MAX = 0.1;

const focused = (page) =>
  page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.className}`);

export function access(define, shared) {
  const { browserName } = shared;
  define("axe-core finds nothing", async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector(byId("drop-zone"));
    assert.deepEqual(await findings(page), [], "the drop page");
    await choose(page, ...MANY);
    await settled(page);
    assert.deepEqual(await findings(page), [], "many files");
    await openSources(page);
    await page.click(byId("progress-toggle"));
    assert.deepEqual((await findings(page)).filter(isNotCovered), [], "the sources");
    await page.keyboard.press("Escape");
    await (await row(page, "method", "POST")).click();
    await chips(page, 1);
    for (const theme of ["the preferred theme", "the other theme"]) {
      assert.deepEqual(await findings(page), [], `a filter, ${theme}`);
      await page.click(byId("theme-toggle"));
    }
    await choose(page, MANY[0]);
    await page.waitForSelector(byId("duplicates"));
    assert.deepEqual(await findings(page), [], "a question");
  });

  define("the focus is never lost", async ({ page, server }) => {
    await page.goto(server.url);
    await choose(page, LOG);
    await settled(page);
    const isKept = async (step) => {
      await settled(page);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())));
      assert.doesNotMatch(await focused(page), /^BODY/, step);
    };
    await (await row(page, "status", "404")).focus();
    await page.keyboard.press("Enter");
    await chips(page, 1);
    await isKept("a value is included");
    await page.focus(byId("chip-remove"));
    await page.keyboard.press("Enter");
    await chips(page, 0);
    await isKept("a chip is removed");
    await page.focus(`${byId("top-status")} ${byId("top-exclude")}`);
    await page.keyboard.press("Enter");
    await chips(page, 1);
    await isKept("a value is excluded");
    await page.focus(byId("clear-filters"));
    await page.keyboard.press("Enter");
    await chips(page, 0);
    await isKept("all chips are removed");
    await page.focus(`${byId("top-client")} .more button`);
    await page.keyboard.press("Enter");
    await isKept("a list is longer");
    const said = await page.$eval(byId("live-count"), (count) => count.textContent);
    assert.match(said, /requests$/);
  });

  // Firefox does not report shifts of the layout.
  if (browserName !== "chromium") return;
  define("nothing jumps while a log is read", async ({ page, server }) => {
    await page.goto(server.url);
    await page.evaluate(() => {
      window.shift = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          if (!entry.hadRecentInput) window.shift += entry.value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    await choose(page, shared.large);
    await settled(page);
    await until(page, () => document.querySelectorAll(".top-list").length > 0);
    const shift = await page.evaluate(() => window.shift);
    assert.ok(shift < SHIFT_MAX, `${shift}`);
  });
}
