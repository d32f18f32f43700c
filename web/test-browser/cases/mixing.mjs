// A data set with several kinds of records.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { allLists } from "../support/lists.mjs";
import {
  byId,
  chips,
  choose,
  conditionsOf,
  numbers,
  row,
  settled,
  shows,
  tabTo,
  until,
} from "../support/page.mjs";
import { report } from "../support/weir.mjs";

const ERRORS = ["--kind", "error-log-line"];
const REQUESTS = ["--kind", "request"];

/** An access log and an error log of the same minutes. */
async function writeLogs(world) {
  const minute = (at) => String(at).padStart(2, "0");
  const requests = Array.from(
    { length: 40 },
    (_, at) =>
      `192.0.2.${at % 5} - - [12/May/2024:10:${minute(at)}:00 +0000] "GET /${at % 7} HTTP/1.1" ` +
      `${at % 4 === 0 ? 404 : 200} ${100 + at} "-" "curl/8.5.0"\n`,
  );
  const errors = Array.from(
    { length: 15 },
    (_, at) =>
      `2024/05/12 10:${minute(at)}:30 [${at % 3 === 0 ? "error" : "warn"}] 7#7: *${at} ` +
      `open() "/var/www/${at % 2}" failed (2: No such file or directory), ` +
      `client: 198.51.100.${at % 3}, server: example.org, request: "GET /${at % 2} HTTP/1.1", ` +
      `host: "example.org"\n`,
  );
  const files = [world.path("access.log"), world.path("error.log")];
  await writeFile(files[0], requests.join(""));
  await writeFile(files[1], errors.join(""));
  return files;
}

/** Loads both logs and returns their paths. */
async function opened(world) {
  const files = await writeLogs(world);
  await world.page.goto(world.server.url);
  await choose(world.page, ...files);
  await settled(world.page);
  return files;
}

async function chooseKind(page, kind) {
  const button = await page.$(`${byId("kind")}[data-kind="${kind}"]`);
  // It may be under the pinned bar, where a person would scroll too.
  await button.evaluate((one) => one.scrollIntoView({ block: "center" }));
  await button.click();
  await isChosen(page, kind);
}

/** Waits until the report about this kind is on the screen. */
async function isChosen(page, kind) {
  const pressed = `${byId("kind")}[data-kind="${kind}"][aria-pressed="true"]`;
  await page.waitForSelector(pressed);
  await settled(page);
}

const choices = (page) =>
  page.$$eval(byId("kind"), (all) => all.map((one) => one.textContent.replace(/\s+/g, " ")));
const texts = (page, selector) =>
  page.$$eval(selector, (all) => all.map((one) => one.firstChild.textContent));

export function mixing(define) {
  define("each kind of records has numbers of its own, and a reload keeps it", async (world) => {
    const { page } = world;
    const files = await opened(world);
    assert.deepEqual(await choices(page), ["Requests 40", "Error-log lines 15"]);
    await shows(page, await report(...files, ...REQUESTS));
    assert.equal((await numbers(page)).requests, 40);
    assert.equal(new URL(page.url()).search, "");

    await chooseKind(page, "error_log_line");
    const errors = await report(...files, ...ERRORS);
    await shows(page, errors);
    assert.equal(errors.matching, 15);
    assert.equal(new URL(page.url()).search, "?kind=error_log_line");
    // Sums that the kind lacks are left out.
    assert.equal(await page.$(byId("total-errors")), null);
    assert.equal(await page.$(byId("total-bytes")), null);
    assert.deepEqual(await texts(page, ".chart-head h2"), ["Error-log lines per 5 seconds"]);
    assert.equal(await page.$eval(byId("stack"), (one) => one.selectedOptions[0].text), "level");
    const lists = (await allLists(page)).map((list) => list.title);
    assert.ok(lists.includes("Messages") && lists.includes("Levels"), lists.join());

    await page.reload();
    await settled(page);
    await isChosen(page, "error_log_line");
    assert.notEqual(await page.$(byId("top-message")), null, "the messages are shown first");
    await shows(page, errors);
    await page.goBack();
    await isChosen(page, "request");
    await shows(page, await report(...files, ...REQUESTS));
  });

  define("a condition on a field that the kind lacks is named", async (world) => {
    const { page } = world;
    const files = await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    assert.equal((await numbers(page)).requests, 10);
    await chooseKind(page, "error_log_line");
    await shows(page, await report(...files, ...ERRORS, ...conditionsOf(page)));
    assert.equal(
      await page.$eval(byId("missing-fields"), (one) => one.textContent),
      "Error-log lines have no status: 0 of 15 match.",
    );
    await page.click(byId("clear-filters"));
    await chips(page, 0);
    assert.equal(await page.$(byId("missing-fields")), null);
    await shows(page, await report(...files, ...ERRORS));
  });

  define("the kind is chosen by keyboard", async (world) => {
    const { page } = world;
    await opened(world);
    await tabTo(page, `${byId("kind")}[data-kind="error_log_line"]`);
    await page.keyboard.press("Enter");
    await isChosen(page, "error_log_line");
    await until(page, () => document.activeElement?.dataset.kind === "error_log_line");
    await page.keyboard.press("Escape");
    await isChosen(page, "request");
  });

  define("firewall events are laid over the requests, and taken away", async (world) => {
    const { page } = world;
    const [access] = await opened(world);
    const firewall = world.path("firewall.log");
    const event = (at) =>
      `2024-05-12T10:${10 + at}:20+00:00 gate kernel: [7.${at}] [UFW BLOCK] IN=eth0 OUT= ` +
      `SRC=203.0.113.9 DST=192.0.2.1 LEN=44 PROTO=TCP SPT=4000 DPT=${20 + at} SYN URGP=0\n`;
    await writeFile(firewall, Array.from({ length: 4 }, (_, at) => event(at)).join(""));
    await page.goto(world.server.url);
    await choose(page, access, firewall);
    await settled(page);
    const plain = await numbers(page);
    await page.click(byId("overlay"));
    await until(page, () => location.search === "?over=firewall_event");
    await settled(page);
    await page.reload();
    await settled(page);
    const laidOver = await numbers(page);
    assert.equal(laidOver.chart.total, 44);
    assert.deepEqual({ ...laidOver, chart: null }, { ...plain, chart: null });
    const legend = await page.$$eval(".legend li", (all) => all.map((one) => one.textContent));
    assert.deepEqual(legend, ["requests40", "BLOCK4"]);
    await page.click(byId("overlay"));
    await until(page, () => location.search === "");
    await settled(page);
    assert.deepEqual(await numbers(page), plain);
  });

  define("a log of one kind has no choice", async (world) => {
    const { page } = world;
    const [, errors] = await writeLogs(world);
    await page.goto(world.server.url);
    await choose(page, errors);
    await settled(page);
    assert.deepEqual(await choices(page), []);
    await shows(page, await report(errors));
    assert.deepEqual(await texts(page, ".totals dt"), [
      "Error-log lines",
      "Clients",
      "2024-05-12",
      "Unparsed lines",
    ]);
  });
}
