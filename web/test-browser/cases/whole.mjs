// A list whose values are all at hand: searched, sorted, walked through, saved.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { catchDownloads } from "../support/downloads.mjs";
import { byId, chips, choose, settled, toggleTheme, until } from "../support/page.mjs";
import { report } from "../support/weir.mjs";

/** More values than the pane shows at a time. */
const PATHS = 1_450;
/** The rows of a step, and the most at a time. */
const [STEP, ROWS_MAX] = [200, 1_000];

/** Writes a log in which paths differ in their requests, errors and bytes. */
async function writeLog(path) {
  const lines = [];
  for (let at = 0; at < PATHS; at += 1) {
    for (let request = 0; request <= (at * 7) % 5; request += 1) {
      const status = (at + request) % 3 === 0 ? 500 : 200;
      const time = `02/Nov/2026:03:${String(at % 60).padStart(2, "0")}:00 +0000`;
      const client = `192.0.2.${at % 250}`;
      lines.push(`${client} - - [${time}] "GET /p/${at} HTTP/1.1" ${status} ${at} "-" "Agent"`);
    }
  }
  await writeFile(path, `${lines.join("\n")}\n`);
}

/** The rows that the terminal counts. */
async function counted(log, ...options) {
  const { group } = await report("--group", "path", "--top", "10000", ...options, log);
  return group.rows.map(({ value, count }) => [value, count]);
}

const rowsOf = (page) =>
  page.$$eval(`${byId("whole-list")} ${byId("top-row")}`, (rows) =>
    rows.map(({ dataset }) => [dataset.value, Number(dataset.count)]),
  );

/** Waits until the pane shows these rows. */
async function showsRows(page, rows, message) {
  await until(
    page,
    (count, first) => {
      const shown = document.querySelectorAll('[data-testid="whole-list"] .top-row');
      const isDrawn = document.querySelector('[data-testid="whole-list"] [aria-busy="true"]');
      return isDrawn === null && shown.length === count && shown[0]?.dataset.value === first;
    },
    rows.length,
    rows[0]?.[0],
  );
  assert.deepEqual(await rowsOf(page), rows, message);
}

const found = (page) => page.$eval(byId("whole-found"), ({ dataset }) => Number(dataset.found));

const focusedValue = (page, value) =>
  until(page, (wanted) => document.activeElement?.dataset.value === wanted, value);

async function open({ page, server, folder }) {
  const log = `${folder}/paths.log`;
  await writeLog(log);
  await page.goto(server.url);
  await choose(page, log);
  await settled(page);
  await page.click(byId("whole-path"));
  await page.waitForSelector(byId("whole-list"));
  return log;
}

export function whole(define) {
  define("all values of a list are at hand, by keyboard too", async (world) => {
    const { page } = world;
    const log = await open(world);
    const all = await counted(log);
    assert.equal(all.length, PATHS);
    await showsRows(page, all.slice(0, STEP), "the first rows");
    assert.equal(await found(page), PATHS);
    for (let shown = STEP; shown < ROWS_MAX; shown += STEP) {
      await page.focus(byId("whole-more"));
      await page.keyboard.press("Enter");
      await showsRows(page, all.slice(0, shown + STEP), `${shown} rows and more`);
      await focusedValue(page, all[shown][0]);
    }
    await page.focus(byId("whole-more"));
    await page.keyboard.press("Enter");
    await showsRows(page, all.slice(ROWS_MAX, ROWS_MAX + STEP), "those after them");
    await focusedValue(page, all[ROWS_MAX][0]);
    await page.click(byId("whole-more"));
    await showsRows(page, all.slice(ROWS_MAX, ROWS_MAX + 2 * STEP), "and more");
    await page.click(byId("whole-more"));
    await showsRows(page, all.slice(ROWS_MAX), "to the last one");
    assert.equal(await page.$(byId("whole-more")), null);
    await page.click(byId("whole-earlier"));
    await showsRows(page, all.slice(0, ROWS_MAX), "those before");
    await page.keyboard.press("Escape");
    await until(page, () => document.querySelector('[data-testid="whole"]') === null);
    const back = await page.evaluate(() => document.activeElement?.dataset.testid);
    assert.equal(back, "whole-path", "the focus is back where the list was opened");
  });

  define("a whole list is searched, sorted, filtered by and saved", async (world) => {
    const { page } = world;
    const downloads = await catchDownloads(world);
    const log = await open(world);
    await showsRows(page, (await counted(log)).slice(0, STEP), "the first rows");
    for (let theme = 0; theme < 2; theme += 1) {
      assert.deepEqual(await findings(page), []);
      await toggleTheme(page);
    }
    await page.type(byId("whole-search"), "/P/14");
    const has = (rows) => rows.filter(([value]) => value.includes("/p/14"));
    await showsRows(page, has(await counted(log)), "in any case");
    await page.click(`${byId("whole-list")} ${byId("sort-error_rate")}`);
    const byErrors = has(await counted(log, "--sort", "error_rate"));
    await showsRows(page, byErrors, "by error rate");
    assert.equal(await found(page), byErrors.length);
    await page.click(byId("whole-save"));
    const csv = (await downloads.file("paths.log.path.csv")).toString();
    const [head, ...lines] = csv.trimEnd().split("\r\n");
    assert.equal(head, "path,count,errors,bytes_sent");
    const saved = lines.map((line) => line.split(",").slice(0, 2));
    assert.deepEqual(
      saved.map(([value, count]) => [value, Number(count)]),
      byErrors,
    );
    // It ignores its own condition, as the list of a card does.
    const [value] = byErrors[0];
    await page.$eval(`${byId("whole-list")} ${byId("top-row")}`, (row) => row.click());
    await chips(page, 1);
    await showsRows(page, byErrors, "with a chosen value");
    const pressed = await page.$$eval(`${byId("whole-list")} [aria-pressed="true"].top-row`, (of) =>
      of.map(({ dataset }) => dataset.value),
    );
    assert.deepEqual(pressed, [value]);
    await page.$eval(byId("whole-search"), (box) => box.select());
    await page.type(byId("whole-search"), "nothing like it");
    await until(
      page,
      () => document.querySelector('[data-testid="whole-found"]').dataset.found === "0",
    );
  });

  define("the clients follow the measure", async ({ page, server, folder }) => {
    const log = `${folder}/paths.log`;
    await writeLog(log);
    await page.goto(server.url);
    await choose(page, log);
    await settled(page);
    await page.click(byId("clients-open"));
    await page.click(byId("measure-bytes"));
    const { group } = await report("--group", "client", "--sort", "bytes", log);
    const wanted = group.rows.slice(0, 10).map(({ value }) => value);
    await until(
      page,
      (text) => {
        const rows = document.querySelectorAll('[data-testid="top-client"] .top-row');
        return [...rows].map(({ dataset }) => dataset.value).join(" ") === text;
      },
      wanted.join(" "),
    );
    const first = await page.$eval(
      `${byId("top-client")} .top-row .top-count`,
      (one) => one.textContent,
    );
    assert.match(first, /B$/, "a number of bytes");
  });
}
