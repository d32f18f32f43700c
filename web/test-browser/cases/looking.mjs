// Themes, widths, and access by keyboard and touch.

import assert from "node:assert/strict";
import { byId, chips, choose, numbers, row, settled, shows, tabTo } from "../support/page.mjs";
import { fixture, report } from "../support/weir.mjs";

/** What a person presses and is lower than a finger needs, on the screen or below it. */
const lowTargets = (page) =>
  page.$$eval("button, select, input:not([type=file]), textarea, [role=tab]", (all) => {
    // The filter box has its frame, and a figure is pressed anywhere.
    const areaOf = (one) =>
      one.closest(".filter-box")?.parentElement ?? one.closest(".figure") ?? one;
    return all
      .filter((one) => one.checkVisibility())
      .map((one) => [one, areaOf(one).getBoundingClientRect().height])
      .filter(([, height]) => height > 0 && height < 44)
      .map(([one, height]) => `${one.className} ${one.dataset.testid} ${height}`);
  });

const firstValue = (page, field) =>
  page.$eval(`${byId(`top-${field}`)} ${byId("top-row")}`, ({ dataset }) => dataset.value);

const LOG = fixture("apache-combined/elastic-first-2000.log");

export function looking(define, { browserName }) {
  define("Tab reaches everything, and the focus is visible", async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector(byId("drop-zone"));
    await tabTo(page, ".drop-zone button");
    await focusIsSeen(page);
    await choose(page, LOG);
    await settled(page);
    await page.focus(".brand");
    for (const selector of [
      byId("filter-box"),
      byId("zone"),
      byId("stack"),
      byId("chart"),
      byId("top-row"),
      byId("top-exclude"),
    ]) {
      await tabTo(page, selector);
      await focusIsSeen(page);
    }
    // From a row to the filter and back, without a pointer.
    await page.focus(`${byId("top-status")} ${byId("top-row")}`);
    const { requests } = await numbers(page);
    await page.keyboard.press("Enter");
    await chips(page, 1);
    assert.ok((await numbers(page)).requests < requests);
    await page.keyboard.press("Escape");
    await chips(page, 0);
    assert.equal((await numbers(page)).requests, requests);
  });

  define("the page is drawn in light and in dark", async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await choose(page, LOG);
    await settled(page);
    const theme = () =>
      page.evaluate(() =>
        (getComputedStyle(document.documentElement).colorScheme.includes("dark") &&
          document.documentElement.dataset.theme === "dark") ||
        (!document.documentElement.dataset.theme &&
          matchMedia("(prefers-color-scheme: dark)").matches)
          ? "dark"
          : "light",
      );
    const looks = {};
    for (let at = 0; at < 2; at += 1) {
      looks[await theme()] = await lookOf(world);
      await page.click(byId("theme-toggle"));
    }
    assert.ok(looks.light.brightness > 200, `light is ${looks.light.brightness}`);
    assert.ok(looks.dark.brightness < 70, `dark is ${looks.dark.brightness}`);
    for (const look of Object.values(looks)) {
      assert.ok(look.colors > 100, `the page has ${look.colors} colours`);
      assert.ok(look.chartColors > 5, `the chart has ${look.chartColors} colours`);
    }
  });

  // Only Chromium can emulate a touch screen without a mouse.
  if (browserName === "chromium") {
    define("on a touch screen a button excludes a value", async ({ page, server }) => {
      await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
      await page.goto(server.url);
      await choose(page, LOG);
      await settled(page);
      await page.select(byId("list-picker"), "how 0");
      const button = await page.$(`${byId("top-status")} ${byId("top-exclude")}`);
      const { opacity, value, box } = await button.evaluate((one) => ({
        opacity: getComputedStyle(one).opacity,
        value: one.parentElement.querySelector("[data-value]").dataset.value,
        box: { width: one.offsetWidth, height: one.offsetHeight },
      }));
      assert.equal(opacity, "1");
      assert.ok(box.width >= 32 && box.height >= 28, JSON.stringify(box));
      await button.tap();
      await chips(page, 1);
      await shows(page, await report(LOG, "--where", `status!=${value}`));
    });
  }

  // Only Chromium can emulate a touch screen without a mouse.
  if (browserName === "chromium") {
    define("what a finger presses is 44 pixels high", async ({ page, server }) => {
      await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
      await page.goto(server.url);
      await choose(page, LOG);
      await settled(page);
      const isLow = async (where) => assert.deepEqual(await lowTargets(page), [], where);
      await isLow("overview");
      // The name of a figure is above its number, and chooses it by a tap on either.
      const [name, number] = await page.$$eval(".figure:first-child :is(dt, dd)", (parts) =>
        parts.map((part) => part.getBoundingClientRect().toJSON()),
      );
      assert.ok(name.bottom <= number.top + 1, `${name.bottom} ${number.top}`);
      await page.tap(byId("whole-client"));
      await page.waitForSelector(byId("whole-list"));
      await isLow("a whole list");
      await page.tap(byId("whole-close"));
      for (const [tab, part] of [
        ["lines", "line"],
        ["rules", "rule-box"],
      ]) {
        await page.$eval(byId(`${tab}-open`), (one) => one.click());
        await page.waitForSelector(byId(part));
        await isLow(tab);
      }
      await page.$eval(byId("overview-open"), (one) => one.click());
      await (await row(page, "client", await firstValue(page, "client"))).tap();
      await chips(page, 1);
      await isLow("a filter");
    });
  }

  define("the page fits every width", async ({ page, server }) => {
    await page.goto(server.url);
    await choose(page, LOG);
    await settled(page);
    for (const width of [1920, 1280, 800, 390]) {
      await page.setViewport({ width, height: 900 });
      await page.waitForFunction((wanted) => innerWidth === wanted, {}, width);
      // The chart has the new width a frame later.
      await page.waitForFunction(() => {
        const canvas = document.querySelector("canvas");
        return Math.abs(canvas.width / devicePixelRatio - canvas.clientWidth) <= 1;
      });
      const tooWide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(tooWide <= 0, `${tooWide} pixels too wide at ${width}`);
    }
  });
}

async function focusIsSeen(page) {
  const { matches, style, width } = await page.evaluate(() => {
    const focused = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(focused);
    return {
      matches: focused.matches(":focus-visible"),
      style: outlineStyle,
      width: parseFloat(outlineWidth),
    };
  });
  assert.ok(matches && style !== "none" && width >= 2, `the outline is ${style}, ${width} pixels`);
}

/** Reads the pixels of a screenshot, in another page that may do so. */
async function lookOf({ page, context }) {
  const chart = await page.$eval(byId("chart"), (one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return { left, top, width, height };
  });
  const picture = await page.screenshot({ encoding: "base64" });
  const reader = await context.newPage();
  try {
    return await reader.evaluate(measure, picture, chart);
  } finally {
    await reader.close();
  }
}

async function measure(picture, { left, top, width, height }) {
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const colorsOf = ({ data }) => {
    const colors = new Map();
    for (let at = 0; at < data.length; at += 4) {
      const color = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
      colors.set(color, (colors.get(color) ?? 0) + 1);
    }
    return colors;
  };
  const colors = colorsOf(context.getImageData(0, 0, image.width, image.height));
  let sum = 0;
  for (const [color, count] of colors)
    sum += (count * ((color >> 16) + ((color >> 8) & 255) + (color & 255))) / 3;
  return {
    brightness: sum / (image.width * image.height),
    colors: colors.size,
    chartColors: colorsOf(context.getImageData(left, top, width, height)).size,
  };
}
