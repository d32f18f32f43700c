// The actions of a person on the page, and the numbers that they see.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { allLists, hasValues, openList, rowsOfReport } from "./lists.mjs";
import { byId, until, WAIT_MS } from "./waiting.mjs";

export { byId, until, WAIT_MS };

/** Chooses files in the file dialogue. */
export async function choose(page, ...files) {
  const input = await page.waitForSelector(byId("file-input"));
  await input.uploadFile(...files);
}

/** Drops files as a drag from the desktop does. For small files, because the test copies them. */
export async function drop(page, ...files) {
  const carried = await Promise.all(
    files.map(async (file) => ({
      name: basename(file),
      base64: (await readFile(file)).toString("base64"),
    })),
  );
  await page.evaluate((dropped) => {
    const dataTransfer = new DataTransfer();
    for (const { name, base64 } of dropped) {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      dataTransfer.items.add(new File([bytes], name));
    }
    const target = document.querySelector("main");
    for (const type of ["dragenter", "dragover", "drop"]) {
      target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
  }, carried);
}

/** Drops files or folders by a real drag, which only Chromium offers to tests. */
export async function dropFromDesktop(page, ...paths) {
  const session = await page.createCDPSession();
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: 400, y: 300, data });
  }
  await session.detach();
}

/** Waits until everything is read and the last question is answered on the screen. */
export function settled(page) {
  return until(page, () => {
    const { complete, sources } = document.documentElement.dataset;
    const rows = document.querySelectorAll('[data-testid="progress-row"]').length;
    const isAnswered = document.querySelector(".dashboard")?.getAttribute("aria-busy") === "false";
    const isDrawn = document.querySelector('.top-list [aria-busy="true"]') === null;
    return isAnswered && isDrawn && complete === "true" && Number(sources) === rows;
  });
}

/** Opens the menu of the sources, if it is not open. */
export async function openSources(page) {
  await page.waitForSelector(byId("sources-open"));
  const isOpen = await page.$eval(byId("sources-open"), (button) => button.ariaExpanded === "true");
  if (!isOpen) await page.click(byId("sources-open"));
  await page.waitForSelector(byId("sources"), { visible: true });
}

/** Switches the theme: by the button in the bar, or on a narrow window by the menu. */
export async function toggleTheme(page) {
  const before = await page.$eval("html", (root) => getComputedStyle(root).backgroundColor);
  const isInBar = await page.$eval(byId("theme-toggle"), (one) => one.offsetWidth > 0);
  if (isInBar) {
    await page.click(byId("theme-toggle"));
  } else {
    await page.click(byId("more-open"));
    await page.waitForSelector(byId("more-theme"));
    await page.click(byId("more-theme"));
  }
  await until(
    page,
    (before) => getComputedStyle(document.documentElement).backgroundColor !== before,
    before,
  );
}

/** Waits for this number of chips, and for their answer. */
export async function chips(page, count) {
  await until(
    page,
    (wanted) => document.querySelectorAll('[data-testid="chip"]').length === wanted,
    count,
  );
  await settled(page);
}

/** Waits until no story is told, and none is in the address: a step back is made a little later. */
export function storyEnds(page) {
  return until(
    page,
    () =>
      document.querySelector('[data-testid="story"]') === null &&
      !location.search.includes("story="),
  );
}

/** Every number on the page. */
export async function numbers(page) {
  const lists = await allLists(page);
  const shown = await page.evaluate(() => {
    const one = (id) => document.querySelector(`[data-testid="${id}"]`);
    const value = (id) => Number(one(id)?.dataset.value ?? 0);
    const chart = one("chart")?.dataset;
    return {
      requests: value("total-requests"),
      requestsText: one("total-requests")?.textContent,
      errors: value("total-errors"),
      bytes: value("total-bytes"),
      unparsed: value("total-unparsed"),
      clients: value("total-clients"),
      chart:
        chart === undefined
          ? null
          : {
              buckets: Number(chart.buckets),
              max: Number(chart.max),
              step: Number(chart.step),
              total: Number(chart.total),
            },
    };
  });
  const tops = lists.map((list) => [
    list.field,
    rowsOfReport(list).filter((row) => row.value !== null),
  ]);
  const listed = tops.filter(([, rows]) => hasValues(rows));
  const pairs = listed.map(([field, rows]) => [field, rows.map((row) => [row.value, row.count])]);
  return { ...shown, tops: Object.fromEntries(pairs) };
}

/** Asserts that the page shows every number of a report. */
export async function shows(page, report) {
  assert.deepEqual(await numbers(page), numbersOf(report));
}

/** The same numbers of a report. */
export function numbersOf(report) {
  const { histogram } = report;
  const counts = histogram?.buckets.map((bucket) => bucket.count) ?? [];
  // A list of one value that stands for a missing value is left out.
  const lists = Object.entries(report.top).filter(([, rows]) => hasValues(rows));
  return {
    requests: report.matching,
    requestsText: report.matching.toLocaleString("en-US"),
    errors: report.errors,
    bytes: report.bytes_sent,
    unparsed: report.unparsed_lines + report.too_long_lines,
    clients: report.distinct.client ?? 0,
    chart: histogram
      ? {
          buckets: counts.length,
          max: Math.max(...counts),
          step: histogram.step_s,
          total: counts.reduce((sum, count) => sum + count, 0),
        }
      : null,
    tops: Object.fromEntries(
      lists.map(([field, rows]) => [field, rows.map((row) => [row.value, row.count])]),
    ),
  };
}

/** Where a row is clicked: at its value, because its buttons stand in its middle. */
export const atValue = { offset: { x: 20, y: 10 } };

/** Returns the row of a value in a list, scrolled to where nothing pinned covers it. */
export async function row(page, field, value) {
  await openList(page, field);
  const rows = await page.$$(`${byId(`top-${field}`)} ${byId("top-row")}`);
  for (const one of rows) {
    if ((await one.evaluate((element) => element.dataset.value)) !== value) continue;
    await one.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const click = one.click.bind(one);
    one.click = () => click(atValue);
    return one;
  }
  throw new Error(`the list of ${field} has no row ${JSON.stringify(value)}`);
}

/** Clicks a row with Alt held. */
export async function altClick(page, element) {
  await page.keyboard.down("Alt");
  await element.click(atValue);
  await page.keyboard.up("Alt");
}

/** Drags over the chart from one share of its width to another. */
export async function drag(page, from, to) {
  const { x, y } = await page.$eval(byId("chart"), (chart) => {
    chart.scrollIntoView({ block: "center" });
    const box = chart.getBoundingClientRect();
    return { x: box.left + Number(chart.dataset.plotLeft), y: box.top + box.height / 2 };
  });
  const width = await page.$eval(byId("chart"), (chart) => Number(chart.dataset.plotWidth));
  await page.mouse.move(x + from * width, y);
  await page.mouse.down();
  await page.mouse.move(x + to * width, y, { steps: 5 });
  await page.mouse.up();
}

/** The filter of the page's address as arguments of `weir report`. */
export function conditionsOf(page) {
  const signs = {
    eq: "=",
    ne: "!=",
    starts: "^=",
    re: "~",
    nre: "!~",
    lt: "<",
    le: "<=",
    gt: ">",
    ge: ">=",
  };
  const { searchParams } = new URL(page.url());
  const clauses = searchParams.getAll("f").flatMap((text) => {
    const [field, word, ...values] = text.split("~");
    return values.flatMap((value) => ["--where", `${field}${signs[word]}${value}`]);
  });
  return [...clauses, ...searchParams.getAll("where").flatMap((text) => ["--where", text])];
}

/** Records what the page copies. */
export const catchCopies = (page) =>
  page.evaluateOnNewDocument(() => {
    window.copied = [];
    const writeText = (text) => Promise.resolve(void window.copied.push(text));
    Object.defineProperty(navigator, "clipboard", { value: { writeText } });
  });

/** Waits until the page has copied this many times, and returns the last text. */
export const lastCopy = async (page, count) => {
  await until(page, (count) => window.copied.length === count, count);
  return page.evaluate(() => window.copied.at(-1));
};

/** Presses Tab until the focus matches a selector; returns the number of presses. */
export async function tabTo(page, selector, most = 60) {
  for (let pressed = 1; pressed <= most; pressed += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector))
      return pressed;
  }
  throw new Error(`Tab does not reach ${selector}`);
}
