// What is given to others: the link, a page, a picture; and the help.

import assert from "node:assert/strict";
import { findings, isNotCovered } from "../support/axe.mjs";
import { catchDownloads } from "../support/downloads.mjs";
import {
  byId,
  catchCopies,
  chips,
  choose,
  lastCopy,
  numbers,
  row,
  settled,
  toggleTheme,
  until,
} from "../support/page.mjs";
import { fixture, report, run } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const NAME = "elastic-first-2000.log";

async function opened({ page, server }) {
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

/** Opens a menu and chooses an item of it. */
async function choosing(page, menu, id) {
  await page.click(byId(`${menu}-open`));
  await page.waitForSelector(byId(id));
  await page.click(byId(id));
}

const said = (page, text) =>
  until(
    page,
    (text) => document.querySelector('[data-testid="save-done"]').textContent === text,
    text,
  );

const hint = (page, id) => page.$eval(`${byId(id)} .menu-hint`, (one) => one.textContent);

const isFocused = (page, id) =>
  until(page, (wanted) => document.activeElement?.dataset.testid === wanted, id);

export function sharing(define, { browserName }) {
  define("the link leads to the same view, and says where it opens", async (world) => {
    const { page } = world;
    await catchCopies(page);
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await choosing(page, "share", "share-link");
    await said(page, "Copied the link");
    const link = await lastCopy(page, 1);
    const before = await numbers(page);
    const other = await world.newPage();
    await other.goto(link);
    await settled(other);
    assert.deepEqual(await numbers(other), before);
    await page.click(byId("share-open"));
    await page.waitForSelector(byId("share-link"));
    const scope = "opens on this machine only, as long as this data set is kept";
    assert.equal(await hint(page, "share-link"), scope);
    await other.close();
  });

  define("the view is saved as a page that needs no Weir", async (world) => {
    const { page } = world;
    const downloads = await catchDownloads(world);
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await choosing(page, "share", "share-html");
    const file = (await downloads.file(`${NAME}-status_404.html`)).toString();
    const { matching } = await report(LOG, "--where", "status=404");
    const printed = await run("report", "--html", "-", "--where", "status=404", LOG);
    const lists = (text) => text.slice(text.indexOf("<table"));
    assert.equal(lists(file), lists(printed));
    assert.ok(file.includes(`${matching}`));
    assert.doesNotMatch(file, /<script|<link|src=/);
  });

  define("on a phone one menu has everything", async (world) => {
    const { page } = world;
    await catchCopies(page);
    await page.setViewport({ width: 390, height: 844 });
    await opened(world);
    const shown = await page.$$eval(".header button", (all) =>
      all.filter((one) => one.offsetWidth > 0).map((one) => one.dataset.testid),
    );
    assert.deepEqual(shown, ["sources-open", "more-open"]);
    await choosing(page, "more", "share-link");
    assert.equal(await lastCopy(page, 1), page.url());
    const sizes = async () => {
      await page.click(byId("more-open"));
      await page.waitForSelector(byId("save-lines"));
      return page.$$eval(".menu-item", (all) => all.map((one) => one.offsetHeight));
    };
    assert.ok((await sizes()).every((height) => height >= 44));
    await page.click(byId("more-help"));
    await isFocused(page, "help-close");
    await page.keyboard.press("Escape");
    await isFocused(page, "more-open");
  });

  define("the help has examples of this log, which can be tried", async (world) => {
    const { page } = world;
    await opened(world);
    await page.keyboard.press("?");
    await isFocused(page, "help-close");
    const examples = await page.$$eval(byId("help-example"), (all) =>
      all.map((one) => [one.dataset.condition, one.lastChild.textContent]),
    );
    assert.equal(examples.length, 4);
    for (const [condition, words] of examples) {
      const { matching, records } = await report(LOG, "--where", condition);
      assert.ok(matching > 0 && matching < records, condition);
      const counted = /^([\d,]+) requests?$/.exec(words)?.[1];
      if (counted !== undefined) assert.equal(Number(counted.replaceAll(",", "")), matching);
    }
    assert.match(examples[0][1], /requests?$/);
    for (const width of [1280, 390]) {
      await page.setViewport({ width, height: 900 });
      await until(page, (wanted) => innerWidth === wanted, width);
      const found = await findings(page);
      assert.deepEqual(found.filter(isNotCovered), [], `${width}`);
    }
    await page.setViewport({ width: 1280, height: 900 });
    await toggleTheme(page);
    assert.deepEqual((await findings(page)).filter(isNotCovered), []);
    await page.click(byId("help-example"));
    await chips(page, 1);
    const { matching } = await report(LOG, "--where", examples[0][0]);
    assert.equal((await numbers(page)).requests, matching);
    assert.notEqual(await page.$(byId("help")), null, "the help stays");
    await page.keyboard.press("Escape");
    await until(page, () => document.querySelector('[data-testid="help"]') === null);
    await chips(page, 1);
    await page.keyboard.press("Escape");
    await chips(page, 0);
  });

  // Pictures are copied in the same way everywhere, but only Chromium lets a test see them.
  if (browserName !== "chromium") return;
  define("the chart is copied as a picture", async (world) => {
    const { page } = world;
    await page.evaluateOnNewDocument(() => {
      const write = async ([item]) => {
        const blob = await item.getType("image/png");
        const bitmap = await createImageBitmap(blob);
        window.picture = { type: blob.type, width: bitmap.width };
      };
      Object.defineProperty(navigator, "clipboard", { value: { write } });
    });
    await opened(world);
    await choosing(page, "share", "share-picture");
    await said(page, "Copied the chart");
    const picture = await page.evaluate(() => window.picture);
    assert.deepEqual(picture, { type: "image/png", width: 1920 });
  });

  define(
    "a link says that the token is not in it",
    async (world) => {
      const { page } = world;
      await catchCopies(page);
      await page.goto(world.server.url);
      await settled(page);
      await choosing(page, "share", "share-link");
      assert.doesNotMatch(await lastCopy(page, 1), /token/);
      await page.click(byId("share-open"));
      await page.waitForSelector(byId("share-link"));
      assert.match(
        await hint(page, "share-link"),
        /^opens (on this machine only|for whoever reaches \S+); asks for the token, which is not in the link$/,
      );
    },
    // A server that other machines can reach asks for a token.
    { args: ["--listen", "0.0.0.0:0", "--insecure-http", LOG] },
  );
}
