// Reads the five outputs of a report into one model, each from what a person or a program gets.
//
// A model has one entry for each kind of records, by the kind's title:
// `{ matching, unparsed, totals: { name: text }, lists: { title: { of, rows: [[value, count, share]] } } }`.

import assert from "node:assert/strict";
import { allLists } from "./lists.mjs";
import { byId } from "./page.mjs";

const KIND_TITLES = {
  request: "Requests",
  error_log_line: "Error-log lines",
  firewall_event: "Firewall events",
};
const NUMBERS_OF_ALL = [
  "lines",
  "records",
  "unparsed_lines",
  "empty_lines",
  "too_long_lines",
  "directive_lines",
  "bytes_read",
];
const SHARE = /^(?:[<>]?\d+(?:\.\d)?%|–)$/;
const COUNT = /^\d{1,3}(?:,\d{3})*$/;

/** A number as every output for people writes it. */
export function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A part of a whole in per cent, as every output for people writes it. */
export function percent(part, whole) {
  if (whole === 0) return "–";
  if (part === 0) return "0%";
  if (part === whole) return "100%";
  const value = (100 * part) / whole;
  if (value < 0.05) return "<0.1%";
  return value >= 99.95 ? ">99.9%" : `${value.toFixed(1)}%`;
}

/** A size in decimal units with three digits. */
export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  if (unit === 0) return `${value} B`;
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${units[unit]}`;
}

/** The report of each kind of records, the main kind first. */
export function reportsOf(json) {
  return [json, ...(json.other_kinds ?? [])];
}

/** The model that the numbers of the JSON report ask for. */
export function modelOfJson(json) {
  const reports = reportsOf(json);
  return Object.fromEntries(
    reports.map((report) => [KIND_TITLES[report.kind], kindOfJson(report)]),
  );
}

/** The number of records of the report's kind, whatever its conditions. */
const recordsOf = ({ kind, kinds }) => kinds.find((one) => one.kind === kind)?.records ?? 0;

function kindOfJson(report) {
  const totals = {};
  if (!(report.absent ?? []).includes("errors")) {
    const rate = percent(report.errors, report.matching);
    totals.Errors = [grouped(report.errors), `error rate ${rate}, status 400 to 599`];
  }
  if (!(report.absent ?? []).includes("bytes_sent"))
    totals["Bytes sent"] = [size(report.bytes_sent)];
  if (report.distinct.client !== undefined) totals.Clients = [grouped(report.distinct.client)];
  const lists = {};
  for (const [field, rows] of Object.entries(report.top)) {
    // A list of one value that stands for a missing value is left out.
    if (rows.length < 2 && rows.every((row) => ["-", ""].includes(row.value))) continue;
    lists[field] = {
      distinct: report.distinct[field],
      rows: rows.map((row) => [row.value, grouped(row.count), percent(row.count, report.matching)]),
    };
  }
  return { matching: grouped(report.matching), totals, lists };
}

/** The raw numbers of the JSON report that CSV has as well, by kind, section, field and value. */
export function cellsOfJson(json) {
  const cells = new Map();
  const put = (...row) => cells.set(JSON.stringify(row.slice(0, 4)), row.slice(4));
  for (const name of NUMBERS_OF_ALL) put("", "total", name, String(json[name]));
  put("", "total", "format", json.format.name);
  put("", "total", "zone", json.time.zone);
  for (const { name, records } of json.formats) put("", "format", name, String(records));
  for (const report of reportsOf(json)) {
    const { kind } = report;
    const isPresent = (name) => !(report.absent ?? []).includes(name);
    put(kind, "total", "records", String(recordsOf(report)));
    put(kind, "total", "matching", String(report.matching));
    for (const name of ["errors", "bytes_sent"].filter(isPresent)) {
      put(kind, "total", name, String(report[name]));
    }
    for (const end of ["first", "last"]) {
      if (report.time[end]) put(kind, "total", end, report.time[end]);
    }
    for (const [field, number] of Object.entries(report.distinct)) {
      put(kind, "distinct", field, String(number));
    }
    for (const name of ["request_time", "upstream_time"]) {
      for (const [quantile, seconds] of Object.entries(report[name] ?? {})) {
        put(kind, name, quantile, String(seconds));
      }
    }
    for (const [field, rows] of Object.entries(report.top)) {
      for (const row of rows) {
        put(
          kind,
          "top",
          field,
          row.value,
          String(row.count),
          isPresent("bytes_sent") ? String(row.bytes_sent) : "",
          isPresent("errors") ? String(row.errors) : "",
        );
      }
    }
    if (report.histogram) put(kind, "histogram_step", "seconds", String(report.histogram.step_s));
    for (const bucket of report.histogram?.buckets ?? []) {
      for (const [group, count] of Object.entries(bucket.by)) {
        put(kind, "histogram", group, bucket.start, String(count), "", "");
      }
    }
  }
  if (json.blocks) putBlocks(json.blocks, (...row) => put("", ...row));
  return cells;
}

/** The rows of the blocks beside the requests. */
function putBlocks(blocks, put) {
  for (const name of ["blocks", "addresses", "unknown", "window_s"]) {
    put("blocks", name, String(blocks[name]));
  }
  put("blocks", "clock_offset_s", String(blocks.clock.offset_s));
  for (const omission of blocks.omissions ?? []) put("blocks", "omission", omission);
  for (const { client, blocks: count, rules, sentence } of blocks.clients) {
    put("blocked", "client", client, String(count), "", "");
    for (const rule of rules) {
      put("blocked_by", client, RULE_TEXTS[rule.cause](rule.name), String(rule.blocks), "", "");
    }
    put("blocked_sentence", client, sentence);
  }
}

/** The names of rules in sentences, for the causes in the real logs. */
const RULE_TEXTS = {
  packet_filter: (name) => `packet filter rule ${name}`,
  access_rule: () => "an access rule",
  jail: (name) => `jail ${name}`,
};

/** The same cells of the CSV report. */
export function cellsOfCsv(text) {
  const [header, ...rows] = csvRows(text);
  assert.deepEqual(header, "kind,section,field,value,count,share,bytes_sent,errors".split(","));
  const cells = new Map();
  for (const [kind, section, field, value, count, , bytes, errors] of rows) {
    // JSON has neither the names of the sources nor the first unparsed lines.
    if (["source", "unparsed_line"].includes(section)) continue;
    const isCounted = ["top", "histogram", "blocked", "blocked_by"].includes(section);
    cells.set(
      JSON.stringify([kind, section, field, withoutApostrophe(value)]),
      isCounted ? [count, bytes, errors] : [],
    );
  }
  return cells;
}

/** A value that a spreadsheet would take for a formula has an apostrophe in front. */
function withoutApostrophe(value) {
  return /^'[=+\-@\t\r\n]/.test(value) ? value.slice(1) : value;
}

/** Rows of CSV by RFC 4180. */
function csvRows(text) {
  const rows = [];
  let row = [];
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g,
  )) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/** The model that the text for the terminal shows. */
export function modelOfText(text) {
  const model = {};
  let kind;
  let list;
  for (const line of text.split("\n")) {
    const total = /^(\S.{0,14}?) {2,}(\S.*)$|^([A-Z][a-z-]+ [a-z]+) ([\d,]+.*)$/.exec(line);
    const row = /^ +([\d,]+) +([<>]?[\d.]+%|–) {2}[\u2588-\u258f]* +(.*)$/.exec(line);
    const title = /^(\S+(?: \S+)*?)(?: {2}([\d,]+ of [\d,]+))?$/.exec(line);
    const [name, value] = total ? [total[1] ?? total[3], total[2] ?? total[4]] : [];
    if (total && Object.values(KIND_TITLES).includes(name)) {
      kind = model[name] = { matching: value.split(" ")[0], totals: {}, lists: {} };
    } else if (total && kind && !/^[\d,]+ of [\d,]+$/.test(value)) {
      kind.totals[name] = value;
    } else if (row && list) {
      list.rows.push([row[3], row[1], row[2]]);
    } else if (title?.[1] === "Unparsed lines") {
      break;
    } else if (title && kind && !/ per .*, times in /.test(line)) {
      list = { of: title[2] ?? "", rows: [] };
      kind.lists[title[1]] = list;
    } else if (line === "") {
      list = undefined;
    }
  }
  return model;
}

/** The model that the HTML report shows. Runs in a page, which parses it. */
export function modelOfHtml(page, html) {
  return page.evaluate(
    (source, titles) => {
      const body = new DOMParser().parseFromString(source, "text/html").body;
      const model = {};
      let kind;
      for (const one of body.querySelectorAll(".totals, .lists section")) {
        if (one.matches(".totals")) {
          kind = { totals: {}, lists: {} };
          for (const entry of one.querySelectorAll("li")) {
            const [name, value, note] = [...entry.children].map((part) => part.textContent);
            if (titles.includes(name)) {
              kind.matching = value;
              model[name] = kind;
            } else {
              kind.totals[name] = [value, note].join(" ").trim();
            }
          }
          continue;
        }
        const [title, of] = one.querySelector("h2").childNodes;
        const rows = [...one.querySelectorAll("tr")].slice(1).map((row) => {
          const [count, share, , value] = [...row.cells].map((cell) => cell.textContent);
          return [value, count, share];
        });
        kind.lists[title.textContent.trim()] = { of: of?.textContent ?? "", rows };
      }
      return model;
    },
    html,
    Object.values(KIND_TITLES),
  );
}

/** What the page shows of the kind that is chosen: its title, its totals and its lists. */
export async function kindOfPage(page) {
  const all = await allLists(page);
  const totals = await page.evaluate((figures) => {
    const textOf = (parent, selector) => parent.querySelector(selector)?.textContent ?? "";
    const totals = {};
    for (const figure of document.querySelectorAll(figures)) {
      const value = textOf(figure, ".figure-value");
      totals[textOf(figure, "dt")] = `${value} ${textOf(figure, ".figure-note").trim()}`.trim();
    }
    return totals;
  }, ".totals .figure");
  const lists = all.map(({ field, title, distinct, rows }) => [
    field,
    { title, distinct, rows: rows.map((row) => row.texts) },
  ]);
  return { totals, lists: Object.fromEntries(lists) };
}

/** Asserts that a list row has the form that `modelOfText` and the others look for. */
export function checkRow([, count, share]) {
  assert.match(count, COUNT);
  assert.match(share, SHARE);
}

export const kindButtons = byId("kind");
