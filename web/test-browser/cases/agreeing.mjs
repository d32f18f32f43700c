// Page, terminal, HTML, CSV and JSON of one log agree in every number, unit and name.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { basename } from "node:path";
import {
  cellsOfCsv,
  cellsOfJson,
  checkRow,
  kindOfPage,
  modelOfHtml,
  modelOfJson,
  modelOfText,
  reportsOf,
} from "../support/outputs.mjs";
import { byId, choose, settled } from "../support/page.mjs";
import { fixture, report, runAnyway } from "../support/weir.mjs";

const NO_LOG = /^(?:ORIGIN\.md|LICENSE|.*\.tsv|expect\.jsonl|(?:parser|scenario)_cases\.jsonl)$/;
/** A log of each kind, for the outputs that show several kinds. */
const MIXED = [
  "nginx-error/meatlabel.app.error.log-20251220",
  "firewall/ufw-first.log",
  "nginx-combined/meatlabel.app.access.log-20251221",
];

/** The folders of real logs, each with the paths of its logs. */
function realLogs() {
  const folders = readdirSync(fixture(""), { withFileTypes: true });
  const found = [];
  for (const { name } of folders.filter((entry) => entry.isDirectory())) {
    // Samples of scenarios, a few lines each, are in a folder of their own.
    const files = readdirSync(fixture(name), { withFileTypes: true })
      .filter((entry) => entry.isFile() && !NO_LOG.test(entry.name))
      .map((entry) => entry.name)
      .sort();
    if (files.length > 0) found.push([name, files.map((file) => fixture(`${name}/${file}`))]);
  }
  return found;
}

/** Opens logs on the page, and forgets the data set afterwards. */
async function onThePage({ page, server }, files, look) {
  await page.goto(server.url);
  await choose(page, ...files);
  await settled(page);
  await look();
  const session = new URL(page.url()).pathname.split("/").at(-1);
  await page.goto("about:blank");
  await fetch(new URL(`/api/sessions/${session}`, server.url), {
    method: "DELETE",
    headers: { origin: server.url.origin },
  });
}

/** Whether outputs for people show a value as it is; unusual characters are escapes there. */
const isPlain = (value) => /^[ -~]*$/.test(value) && value !== "" && value === value.trim();

/** Asserts that an output's rows are those of the model. */
function sameRows(shown, wanted, where) {
  shown.forEach(checkRow);
  assert.deepEqual(
    shown.map(([, ...numbers]) => numbers),
    wanted.map(([, ...numbers]) => numbers),
    where,
  );
  wanted.forEach(([value], at) => {
    if (isPlain(value)) assert.equal(shown[at][0], value, where);
  });
}

/** Asserts that text or HTML shows the kinds, totals and lists of the model. */
function sameModel(shown, wanted, titles, where) {
  assert.deepEqual(Object.keys(shown), Object.keys(wanted), `${where}: kinds`);
  for (const [kind, model] of Object.entries(wanted)) {
    const { matching, totals, lists } = shown[kind];
    assert.equal(matching, model.matching, `${where}: ${kind}`);
    if (model.matching !== "0") sameTotals(totals, model.totals, `${where}: ${kind}`);
    const named = Object.entries(model.lists).map(([field, list]) => [titles[kind][field], list]);
    assert.deepEqual(
      Object.keys(lists).sort(),
      named.map(([title]) => title).sort(),
      `${where}: lists of ${kind}`,
    );
    for (const [title, list] of named) {
      sameRows(lists[title].rows, list.rows, `${where}: ${title} of ${kind}`);
    }
  }
}

function sameTotals(shown, wanted, where) {
  for (const [name, parts] of Object.entries(wanted)) {
    assert.ok(name in shown, `${where}: there is no ${name} among ${Object.keys(shown)}`);
    for (const part of parts) {
      assert.ok(shown[name].includes(part), `${where}: ${name} is ${shown[name]}, not ${part}`);
    }
  }
  for (const name of ["Errors", "Bytes sent", "Clients"]) {
    if (!(name in wanted)) assert.ok(!(name in shown), `${where}: ${name} is not in JSON`);
  }
}

/** Asserts that the page shows a kind as the model has it, and returns the titles of its lists. */
async function sameOnPage(page, kind, model) {
  const { totals, lists } = await kindOfPage(page);
  assert.ok(totals[kind]?.startsWith(model.matching), `page: ${kind} is ${totals[kind]}`);
  if (model.matching !== "0") sameTotals(totals, model.totals, `page: ${kind}`);
  assert.deepEqual(Object.keys(lists).sort(), Object.keys(model.lists).sort(), `page: ${kind}`);
  for (const [field, list] of Object.entries(model.lists)) {
    sameRows(lists[field].rows, list.rows, `page: ${field} of ${kind}`);
  }
  return Object.fromEntries(Object.entries(lists).map(([field, { title }]) => [field, title]));
}

/** Compares the five outputs of some logs. */
async function agree(world, files) {
  const { page } = world;
  const json = await report(...files);
  const html = world.path("report.html");
  await rm(html, { force: true });
  await runAnyway("report", "--html", html, ...files);
  const text = await runAnyway("report", ...files);
  assert.deepEqual(cellsOfCsv(await runAnyway("report", "--csv", ...files)), cellsOfJson(json));
  await onThePage(world, files, async () => {
    const wanted = modelOfJson(json);
    const titles = {};
    for (const [at, [kind, model]] of Object.entries(wanted).entries()) {
      if (at > 0) await chooseKind(page, reportsOf(json)[at].kind);
      titles[kind] = await sameOnPage(page, kind, model);
    }
    sameModel(modelOfText(text), wanted, titles, "text");
    // A report without a record would replace one that somebody may still want.
    if (json.records === 0) assert.ok(!existsSync(html), "HTML without a record");
    else sameModel(await readHtml(world, html), wanted, titles, "HTML");
  });
}

/** Parses the HTML on a page of its own, because the rules of Weir's page forbid its style. */
async function readHtml({ context, page }, path) {
  const reader = await context.newPage();
  const model = await modelOfHtml(reader, await readFile(path, "utf8"));
  await reader.close();
  await page.bringToFront();
  return model;
}

async function chooseKind(page, kind) {
  await page.click(`${byId("kind")}[data-kind="${kind}"]`);
  await page.waitForSelector(`${byId("kind")}[data-kind="${kind}"][aria-pressed="true"]`);
  await settled(page);
}

export function agreeing(define, { browserName }) {
  // What is compared does not depend on the browser.
  if (browserName !== "chromium") return;
  for (const [folder, files] of realLogs()) {
    define(`the five outputs agree on the logs of ${folder}`, async (world) => {
      for (const file of files) {
        await agree(world, [file]).catch((error) => {
          error.message = `${basename(file)}: ${error.message}`;
          throw error;
        });
      }
      if (files.length > 1) await agree(world, files);
    });
  }

  define("the five outputs agree on several kinds of records", async (world) => {
    await agree(world, MIXED.map(fixture));
  });
}
