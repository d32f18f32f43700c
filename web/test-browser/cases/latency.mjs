// Durations over time: the map, its lines, and the rectangle that filters by time and duration.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { openList } from "../support/lists.mjs";
import {
  byId,
  chips,
  choose,
  conditionsOf,
  numbers,
  settled,
  toggleTheme,
  until,
} from "../support/page.mjs";
import { report } from "../support/weir.mjs";

/** Requests over an hour, of which those of one path are slow in its second half. */
async function log(world) {
  const line = (at) => {
    const second = at % 3_600;
    const path = at % 5;
    const isSlow = path === 3 && second >= 1_800;
    const time = isSlow ? 0.8 + (at % 11) * 0.3 : 0.005 + (at % 40) * 0.002;
    const upstream = at % 3 === 0 ? { upstream_response_time: String((at % 7) * 0.011) } : {};
    return JSON.stringify({
      time_iso8601: new Date(Date.UTC(2026, 10, 2, 3) + second * 1_000).toISOString(),
      remote_addr: `192.0.2.${at % 7}`,
      request_uri: `/${path}`,
      status: 200,
      request_time: Math.round(time * 1_000) / 1_000,
      ...upstream,
    });
  };
  const path = world.path("durations.log");
  // In the order of the time.
  const order = Array.from({ length: 7_200 }, (_, at) => (at % 2) * 3_600 + (at >> 1));
  await writeFile(path, `${order.map(line).join("\n")}\n`);
  return path;
}

/** The data of the map on the screen. */
const mapOf = (page) =>
  page.$eval(byId("chart"), ({ dataset }) => ({
    field: dataset.map,
    total: Number(dataset.total),
    bounds: dataset.bounds.split(" ").map(Number),
    tops: dataset.tops.split(" ").map(Number),
  }));

/** Waits for the map of a duration with this number of records. */
const mapped = (page, field, total) =>
  until(
    page,
    (field, total) => {
      const { dataset } = document.querySelector('[data-testid="chart"]');
      return dataset.map === field && dataset.total === total && dataset.tops !== undefined;
    },
    field,
    String(total),
  );

/** The rows of the table of the map: records, median, 95th percentile. */
const tableOf = (page) =>
  page.$$eval(`${byId("chart-rows")} tbody tr`, (rows) =>
    rows.map(({ dataset }) => [dataset.total, dataset.median, dataset.p95].map(Number)),
  );

async function open(world) {
  const { page, server } = world;
  const path = await log(world);
  await page.goto(server.url);
  await choose(page, path);
  await settled(page);
  await page.click(byId("measure-time"));
  await mapped(page, "request_time", 7_200);
  return path;
}

/** Drags over the map from a share of its width and a duration to others. */
async function dragTo(page, [fromX, fromSeconds], [toX, toSeconds]) {
  const { bounds, tops } = await mapOf(page);
  const box = await page.$eval(byId("chart"), (chart) => {
    chart.scrollIntoView({ block: "center" });
    const { left, top } = chart.getBoundingClientRect();
    const { plotLeft, plotWidth } = chart.dataset;
    return { left: left + Number(plotLeft), top, width: Number(plotWidth) };
  });
  const y = (seconds) => {
    const step = bounds.findLastIndex((bound) => bound <= seconds);
    return box.top + tops[Math.min(step, tops.length - 1)] + 1;
  };
  await page.mouse.move(box.left + fromX * box.width, y(fromSeconds));
  await page.mouse.down();
  await page.mouse.move(box.left + toX * box.width, y(toSeconds), { steps: 5 });
  await page.mouse.up();
}

export function latency(define) {
  define("the map of a duration has the numbers of the terminal", async (world) => {
    const { page } = world;
    const path = await open(world);
    await page.click(byId("chart-table"));
    const step = await page.$eval(byId("chart"), ({ dataset }) => dataset.step);
    const options = ["--group", `time/${step}s`, "--measure", "requests,p50,p95", "--top", "1000"];
    const { group } = await report(...options, path);
    const expected = group.rows.map(({ count, measures }) => [
      count,
      measures["p50:request_time"],
      measures["p95:request_time"],
    ]);
    assert.ok(expected.length > 100, `${expected.length} rows`);
    assert.deepEqual(await tableOf(page), expected);
    const other = byId("duration");
    await page.select(other, "upstream_time");
    await mapped(page, "upstream_time", 2_400);
    assert.ok(page.url().includes("of=upstream_time"), page.url());
    await openList(page, "path");
    await settled(page);
    const sorted = await report("--group", "path", "--sort", "p95:upstream_time", path);
    const values = await page.$$eval(`${byId("top-path")} ${byId("top-row")}`, (all) =>
      all.map(({ dataset }) => dataset.value),
    );
    assert.deepEqual(
      values,
      sorted.group.rows.map(({ value }) => value),
    );
    await page.reload();
    await mapped(page, "upstream_time", 2_400);
  });

  define("a rectangle filters by time and duration, exactly", async (world) => {
    const { page } = world;
    const path = await open(world);
    await dragTo(page, [0.55, 0.6], [0.95, 10]);
    await chips(page, 2);
    const conditions = await conditionsOf(page);
    assert.equal(conditions.filter((text) => text.startsWith("request_time>=")).length, 1);
    assert.equal(conditions.filter((text) => text.startsWith("time")).length, 2);
    const expected = await report(path, ...conditions);
    assert.ok(expected.matching > 0 && expected.matching < 1_440);
    assert.equal((await numbers(page)).requests, expected.matching);
    await mapped(page, "request_time", expected.matching);
    await openList(page, "path");
    const slowest = await page.$$eval(`${byId("top-path")} ${byId("top-row")}`, (rows) =>
      rows.map(({ dataset }) => dataset.value),
    );
    assert.deepEqual(slowest, ["/3"]);
    await page.goBack();
    await chips(page, 0);
    await mapped(page, "request_time", 7_200);
    // Level, it is a range of time alone.
    await dragTo(page, [0.2, 0.02], [0.4, 0.02]);
    await chips(page, 1);
    await mapped(page, "request_time", (await numbers(page)).requests);
  });

  define("the map is used by keys, and its table is accessible", async (world) => {
    const { page } = world;
    const path = await open(world);
    await page.focus(byId("chart"));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.down("Shift");
    for (let at = 0; at < 70; at += 1) await page.keyboard.press("ArrowUp");
    await page.keyboard.up("Shift");
    await page.keyboard.press("Enter");
    await chips(page, 2);
    const expected = await report(path, ...(await conditionsOf(page)));
    assert.equal((await numbers(page)).requests, expected.matching);
    await page.goBack();
    await chips(page, 0);
    await mapped(page, "request_time", 7_200);
    await page.click(byId("chart-table"));
    await page.waitForSelector(byId("chart-rows"));
    for (const width of [1280, 390]) {
      await page.setViewport({ width, height: 800 });
      for (let theme = 0; theme < 2; theme += 1) {
        assert.deepEqual(await findings(page), [], `${width}`);
        await toggleTheme(page);
      }
    }
  });
}
