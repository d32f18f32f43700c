// What is pinned, the tabs, and the pane of a story: nothing that a click changes is off the screen.

import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { findings, isNotCovered } from "../support/axe.mjs";
import {
  atValue,
  byId,
  chips,
  choose,
  openSources,
  row,
  settled,
  storyEnds,
  toggleTheme,
  until,
} from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const RULE =
  "limit_req_zone $binary_remote_addr zone=one:1m rate=5r/m;\nlimit_req zone=one burst=2;";
async function opened({ page, server }) {
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

const isSelected = (page, tab) =>
  until(
    page,
    (id) => document.querySelector(`[data-testid="${id}"]`)?.ariaSelected === "true",
    `${tab}-open`,
  );

const topOf = (page, selector) =>
  page.$eval(selector, (one) => Math.round(one.getBoundingClientRect().top));

export function frame(define) {
  define("the filter, the figures and the tabs stay in sight", async (world) => {
    const { page } = world;
    await opened(world);
    const [bar, figures] = [await topOf(page, ".header"), await topOf(page, ".figbar")];
    await page.evaluate(() => scrollTo(0, 600));
    await until(page, () => scrollY === 600);
    assert.deepEqual([await topOf(page, ".header"), await topOf(page, ".figbar")], [bar, figures]);
    const below = await page.$eval(".figbar", (one) => one.getBoundingClientRect().bottom);
    assert.equal(await topOf(page, ".tabs"), Math.round(below));
  });

  define("a click far down leaves the eye where it was", async (world) => {
    const { page } = world;
    await opened(world);
    const button = await row(page, "protocol", "HTTP/1.0");
    await button.evaluate((one) => one.scrollIntoView({ block: "center" }));
    const before = await page.evaluate(() => scrollY);
    // Firefox rounds the place to a pixel of the screen when something above changes.
    const isAt = (place) => page.evaluate((place) => Math.abs(scrollY - place) < 1, place);
    assert.ok(before > 300, `${before}`);
    await button.click();
    await chips(page, 1);
    assert.ok(await isAt(before), "it scrolled");
    const { matches, box } = await page.evaluate(() => {
      const one = document.querySelector('[data-testid="matches"]');
      return { matches: one.textContent, box: one.getBoundingClientRect().top };
    });
    assert.match(matches, /^255 of 2,000$/);
    assert.ok(box > 0 && box < 60, `the number of matches is at ${box}`);
    await page.keyboard.press("Escape");
    await chips(page, 0);
    assert.ok(await isAt(before), "it scrolled");
  });

  define(
    "the tabs are walked by keys, and the address keeps the one on the screen",
    async (world) => {
      const { page } = world;
      await opened(world);
      await page.focus(byId("overview-open"));
      for (const tab of ["lines", "clients", "rules", "blocks"]) {
        await page.keyboard.press("ArrowRight");
        await isSelected(page, tab);
        assert.ok(page.url().includes(`tab=${tab}`), page.url());
        assert.equal(
          await page.evaluate(() => document.activeElement.dataset.testid),
          `${tab}-open`,
        );
        assert.deepEqual(await findings(page), [], tab);
      }
      await page.keyboard.press("Home");
      await isSelected(page, "overview");
      assert.ok(!page.url().includes("tab="), page.url());
      // A letter leads there from anywhere but a text.
      await page.keyboard.press("c");
      await isSelected(page, "clients");
      await page.keyboard.press("/");
      await page.keyboard.type("lo");
      await isSelected(page, "clients");
      await page.keyboard.press("Escape");
      // A filter and a reload keep the tab, and so does Back.
      await (await page.$(`${byId("top-client")} ${byId("top-row")}`)).click(atValue);
      await chips(page, 1);
      await page.reload();
      await chips(page, 1);
      await isSelected(page, "clients");
      await page.goBack();
      await chips(page, 0);
      await isSelected(page, "clients");
    },
  );

  define("an address with a rule alone shows the rule", async (world) => {
    const { page } = world;
    await opened(world);
    const address = new URL(page.url());
    address.hash = `rule=${encodeURIComponent(RULE)}`;
    await page.goto("about:blank");
    await page.goto(address.href);
    await isSelected(page, "rules");
    await page.waitForSelector(byId("rules-answer"));
    assert.equal(await page.$eval(byId("rule-box"), (box) => box.value), RULE);
    assert.equal(await page.$eval(`${byId("rules-open")} .tab-count`, (one) => one.innerText), "1");
    // The overview says in a line what it came to, and leads back.
    await page.click(byId("overview-open"));
    await page.click(byId("rules-line"));
    await isSelected(page, "rules");
  });

  define("a story is a pane: the page behind it works, and the focus returns", async (world) => {
    const { page } = world;
    await opened(world);
    const opener = `${byId("top-client")} ${byId("story-open")}`;
    await page.focus(opener);
    const label = await page.$eval(opener, (one) => one.ariaLabel);
    await page.keyboard.press("Enter");
    await page.waitForSelector(byId("story-totals"));
    assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "story-close");
    // The filter is in sight and can be used.
    await page.click(byId("lines-open"));
    await isSelected(page, "lines");
    assert.notEqual(await page.$(byId("story")), null);
    await page.click(byId("overview-open"));
    await isSelected(page, "overview");
    await page.focus(opener);
    await page.keyboard.press("Enter");
    await page.focus(byId("story-close"));
    await page.keyboard.press("Escape");
    await storyEnds(page);
    const focused = await page.evaluate(() => document.activeElement.ariaLabel);
    assert.ok(focused === label || focused?.startsWith("Story of"), `${focused}`);
  });

  define("the sources open below their button, and Escape closes them alone", async (world) => {
    const { page } = world;
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await openSources(page);
    assert.deepEqual((await findings(page)).filter(isNotCovered), []);
    await page.focus(byId("remove-source"));
    await page.keyboard.press("Escape");
    await page.waitForSelector(byId("sources"), { hidden: true });
    assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "sources-open");
    assert.equal((await page.$$(byId("chip"))).length, 1, "the filter stays");
  });

  define("on a phone the chart is on the first screen, and the tabs stay", async (world) => {
    const { page } = world;
    await page.setViewport({ width: 390, height: 844 });
    await opened(world);
    await until(page, () => innerWidth === 390);
    const chart = await page.$eval(byId("chart"), (one) => one.getBoundingClientRect().bottom);
    assert.ok(chart < 844, `the chart ends at ${chart}`);
    // A narrow window shows one list at a time.
    const shown = () =>
      page.$$eval('[data-testid^="family-"]', (cards) =>
        cards.filter((one) => one.offsetHeight > 0).map(({ dataset }) => dataset.testid),
      );
    assert.deepEqual(await shown(), ["family-who"]);
    await page.select(byId("list-picker"), "what 0");
    await until(page, () => document.querySelector('[data-testid="family-what"]').offsetHeight > 0);
    assert.deepEqual(await shown(), ["family-what"]);
    // The tabs stay below the bar, however far the page is scrolled.
    await page.setViewport({ width: 390, height: 420 });
    await page.evaluate(() => document.querySelector(".family.picked .more").scrollIntoView(false));
    await until(page, () => {
      const [tabs, bar] = [".tabs", ".header"].map((one) => document.querySelector(one));
      return tabs.getBoundingClientRect().top <= bar.getBoundingClientRect().bottom + 1;
    });
    const head = await page.$eval(".header", (one) => one.getBoundingClientRect().bottom);
    assert.ok(Math.abs((await topOf(page, ".tabs")) - head) <= 1);
    for (let theme = 0; theme < 2; theme += 1) {
      assert.deepEqual(await findings(page), []);
      await toggleTheme(page);
    }
  });

  define("on a phone the bar of a log with a long name covers nothing", async (world) => {
    const { page, server } = world;
    const log = world.path(`${"www.example.com.".repeat(8)}access.log`);
    await copyFile(LOG, log);
    await page.setViewport({ width: 390, height: 844 });
    await page.goto(server.url);
    await choose(page, log);
    await settled(page);
    const bottoms = await page.$$eval(".header, .source-button, .menu-button, .filters", (all) =>
      all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().bottom),
    );
    assert.ok(Math.max(...bottoms) <= (await topOf(page, ".figbar")), `${bottoms}`);
  });

  define("no gesture moves what is above the lists", async (world) => {
    const { page } = world;
    await opened(world);
    const places = () =>
      page.evaluate(() =>
        [".figbar", ".hero", '[data-testid="chart"]', ".tabs", ".work", ".top-list"].map((one) => {
          const { left, top, width } = document.querySelector(one).getBoundingClientRect();
          return [one, left, top, width];
        }),
      );
    const before = await places();
    await page.focus(byId("filter-box"));
    await page.keyboard.type("status=404");
    await page.waitForSelector(byId("typed-count"));
    assert.deepEqual(await places(), before, "a count of what is typed");
    await page.keyboard.press("Enter");
    await chips(page, 1);
    assert.deepEqual(await places(), before, "a filter");
    await page.keyboard.type("nonsense=(");
    await page.keyboard.press("Enter");
    await page.waitForSelector(byId("filter-refusal"));
    assert.deepEqual(await places(), before, "a refusal");
    await page.keyboard.press("Escape");
    await openSources(page);
    assert.deepEqual(await places(), before, "a menu");
    await page.keyboard.press("Escape");
  });
}
