// Lists in cards: fields that follow from others, several values of a list, keys.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { openList } from "../support/lists.mjs";
import { byId, chips, choose, numbers, row, settled, shows, until } from "../support/page.mjs";
import { fixture, report } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");

/** Fields that a log in the combined format implies. */
const DERIVED = [
  "network",
  "path/1",
  "extension",
  "agent_family",
  "system",
  "device",
  "crawler",
  "referer_host",
  "referer_kind",
  "hour",
  "weekday",
  "date",
];

/** The rows of the list that a field has on the page. */
async function rowsOf(page, field) {
  await openList(page, field);
  return page.$$eval(`${byId(`top-${field}`)} ${byId("top-row")}`, (rows) =>
    rows.map(({ dataset }) => [dataset.value, Number(dataset.count)]),
  );
}

/** The first rows by their numbers. */
const most = (rows) => [...rows].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 10);

/** A report on a condition, without the list of the field that the condition makes a column of. */
async function filtered(condition) {
  const found = await report(LOG, "--where", condition);
  delete found.top.network;
  return found;
}

/** The rows that the terminal counts, in the order of the numbers. */
async function counted(field, log, ...options) {
  const { group } = await report("--group", field, "--top", "400", ...options, log);
  return group.rows.map(({ value, count }) => [value, count]);
}

async function open({ page, server }) {
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

export function families(define) {
  define("a list of each derived field has the numbers of the terminal", async (world) => {
    const { page } = world;
    await open(world);
    for (const field of DERIVED) {
      const rows = await rowsOf(page, field);
      assert.ok(rows.length > 0, `${field} has no row`);
      assert.deepEqual(most(rows), most(await counted(field, LOG)), field);
    }
    const hours = (await rowsOf(page, "hour")).map(([hour]) => hour);
    assert.deepEqual(hours, [...hours].sort(), "hours are in their own order");
    for (let theme = 0; theme < 2; theme += 1) {
      assert.deepEqual(await findings(page), []);
      await page.click(byId("theme-toggle"));
    }
  });

  define("values of a derived field filter, several of one list too", async (world) => {
    const { page } = world;
    await open(world);
    const [first, second] = (await rowsOf(page, "network")).map(([value]) => value);
    await (await row(page, "network", first)).click();
    await chips(page, 1);
    await shows(page, await filtered(`network="${first}"`));
    // The list ignores its own condition, so the second can be added.
    assert.ok((await rowsOf(page, "network")).length > 1);
    await (await row(page, "network", second)).click();
    await settled(page);
    const both = await filtered(`network="${first}","${second}"`);
    await shows(page, both);
    // Other lists are those of the filter.
    const hours = await counted("hour", LOG, "--where", `network="${first}","${second}"`);
    assert.deepEqual(most(await rowsOf(page, "hour")), most(hours));
    await page.reload();
    await settled(page);
    await shows(page, both);
    await page.goBack();
    await settled(page);
    await page.goBack();
    await chips(page, 0);
    await shows(page, await report(LOG));
  });

  define("requests without a value are a row, which is chosen and excluded", async (world) => {
    const { page } = world;
    await open(world);
    const none = await row(page, "crawler", "(none)");
    assert.notEqual(await none.evaluate((one) => one.dataset.absent), undefined);
    await none.click();
    await chips(page, 1);
    const people = await report(LOG, "--where", "crawler=(none)");
    assert.equal((await numbers(page)).requests, people.matching);
    await page.keyboard.down("Alt");
    await (await row(page, "crawler", "(none)")).click();
    await page.keyboard.up("Alt");
    const others = await report(LOG, "--where", "crawler!=(none)");
    await until(
      page,
      (count) =>
        document.querySelector('[data-testid="total-requests"]').dataset.value === String(count),
      others.matching,
    );
  });

  define("values of derived fields, and rare ones of others, are completed", async (world) => {
    const { page } = world;
    await open(world);
    const complete = async (text, expected) => {
      await page.$eval(byId("filter-box"), (box) => box.select());
      await page.focus(byId("filter-box"));
      await page.keyboard.type(text);
      await until(
        page,
        (wanted) => {
          const all = document.querySelectorAll('[data-testid="completion"]');
          return [...all].map(({ dataset }) => dataset.text).join("\n") === wanted;
        },
        expected.join("\n"),
      );
    };
    const hours = await counted("hour", LOG);
    const rank = (wanted) => (value) => (value.startsWith(wanted) ? 0 : 1);
    const ofHours = hours.map(([value]) => value).filter((value) => value.includes("1"));
    const first = ofHours.sort((a, b) => rank("1")(a) - rank("1")(b));
    await complete(
      "hour=1",
      first.slice(0, 20).map((value) => `hour=${value}`),
    );
    // One of thousands, far from the first ten.
    const [rare] = (await counted("path", LOG)).at(-1);
    await complete(`path="${rare.slice(0, -1)}`, [`path=${rare}`]);
  });

  define("the lists of a card are walked by keys, and nothing moves", async (world) => {
    const { page } = world;
    await open(world);
    const boxes = () =>
      page.$$eval('[data-testid^="family-"]', (cards) =>
        cards.map((card) => {
          const { left, top, width, height } = card.getBoundingClientRect();
          return [left, top, width, height];
        }),
      );
    const before = await boxes();
    await page.focus(byId("list-client"));
    await page.keyboard.press("ArrowRight");
    await openList(page, "network");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "list-network");
    assert.deepEqual(await boxes(), before);
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    await openList(page, "client");
    assert.deepEqual(await boxes(), before);
    await openList(page, "hour");
    assert.deepEqual(await boxes(), before, "the hours have the room of any list");
  });

  define("a figure sets the measure of the chart and of the lists", async (world) => {
    const { page } = world;
    await open(world);
    const whole = await report(LOG);
    const sums = { errors: whole.errors, bytes: whole.bytes_sent };
    for (const [measure, sum] of Object.entries(sums)) {
      await page.click(byId(`measure-${measure}`));
      await until(
        page,
        (total) => document.querySelector('[data-testid="chart"]').dataset.total === total,
        String(sum),
      );
      await settled(page);
      assert.ok(page.url().includes(`m=${measure}`), page.url());
      for (const field of ["path", "network"]) {
        const sorted = await counted(field, LOG, "--sort", measure);
        assert.deepEqual(await rowsOf(page, field), sorted.slice(0, 10), `${field} by ${measure}`);
      }
    }
    await page.goBack();
    await page.goBack();
    await settled(page);
    assert.equal((await numbers(page)).chart.total, whole.matching);
    await shows(page, whole);
  });

  define("a list is sorted by its error rate, and its lines follow the time", async (world) => {
    const { page } = world;
    await open(world);
    const heads = `${byId("top-path")} ${byId("sort-error_rate")}`;
    await page.click(heads);
    await settled(page);
    const sorted = await counted("path", LOG, "--sort", "error_rate");
    assert.deepEqual(await rowsOf(page, "path"), sorted.slice(0, 10));
    await page.click(`${byId("top-path")} ${byId("sort-measure")}`);
    await settled(page);
    assert.deepEqual(await rowsOf(page, "path"), (await counted("path", LOG)).slice(0, 10));
    const lines = await page.$$(`${byId("top-path")} .spark-line`);
    assert.equal(lines.length, 10, "each row has a line");
  });

  define("a log with durations is listed by them", async (world) => {
    const { page, server } = world;
    const path = world.path("times.log");
    const line = (at) => {
      const second = String(at % 60).padStart(2, "0");
      return JSON.stringify({
        time_iso8601: `2026-11-02T03:04:${second}+00:00`,
        remote_addr: `192.0.2.${at % 7}`,
        request_uri: `/${at % 5}`,
        status: 200,
        request_time: (at % 5) * 0.3 + 0.1,
      });
    };
    await writeFile(path, `${Array.from({ length: 300 }, (_, at) => line(at)).join("\n")}\n`);
    await page.goto(server.url);
    await choose(page, path);
    await settled(page);
    await page.click(byId("measure-time"));
    await until(
      page,
      () => document.querySelector('[data-testid="chart"]').dataset.total === "300",
    );
    await settled(page);
    const { group } = await report("--group", "path", "--sort", "p95", path);
    assert.deepEqual(
      await rowsOf(page, "path"),
      group.rows.map(({ value, count }) => [value, count]),
    );
    const first = await page.$eval(
      `${byId("top-path")} .top-item .top-count`,
      (one) => one.innerText,
    );
    assert.equal(first, "1.30 s");
  });
}
