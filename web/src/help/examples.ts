/** Conditions to try, made of the values of the log on the screen. */

import { wordsOf } from "../format/kind";
import { networkOf } from "../format/network";
import { plural, trimmed } from "../format/number";
import { ownValue } from "../format/ownValue";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";
import { DURATION_TITLES } from "../generated/words";
import { quoted } from "../state/conditionText";

/** A condition, and what it selects. */
export interface Example {
  condition: string;
  hint: string;
}

/** The examples of a report. */
const EXAMPLES_MAX = 4;

/** The longest condition that is an example, in characters. */
const LENGTH_MAX = 60;

/** The fields of requests, which have examples of their own. */
const OWN = new Set(["status", "path", "client", "user_agent", "query", "request"]);

/** Up to four conditions that select something of this report, each of another kind. */
export function examplesOf(report: Report): Example[] {
  const found = [
    frequentStatus(report),
    firstFolder(report),
    network(report),
    slowest(report),
    robot(report),
    ...otherFields(report),
  ];
  const fitting = found.filter((one) => one !== null && one.condition.length <= LENGTH_MAX);
  return (fitting as Example[]).slice(0, EXAMPLES_MAX);
}

/** The rows whose values can be typed. */
function rowsOf({ top }: Report, field: string): TopRow[] {
  return (ownValue(top, field) ?? []).filter(
    ({ value, value_hex, remainder, absent }) =>
      value !== "" && !remainder && !absent && value_hex === undefined && visible(value) === value,
  );
}

/** The most frequent status of an error, or of all. */
function frequentStatus(report: Report): Example | null {
  const rows = rowsOf(report, "status");
  const row = rows.find(({ value }) => /^[45]\d\d$/.test(value)) ?? rows[0];
  return row ? exampleOf(report, "status", row) : null;
}

/** The first part of the most frequent path that has one. */
function firstFolder(report: Report): Example | null {
  for (const { value } of rowsOf(report, "path")) {
    const folder = /^\/[^/]+\//.exec(value)?.[0];
    if (folder !== undefined) return { condition: `path^=${quoted(folder)}`, hint: "begins with" };
  }
  return null;
}

/** The network of the most frequent address. */
function network(report: Report): Example | null {
  for (const { value } of rowsOf(report, "client")) {
    const condition = networkOf(value);
    if (condition !== null) return { condition: `client=${condition}`, hint: "a network" };
  }
  return null;
}

/** The slowest twentieth by the first duration that the log has. */
function slowest(report: Report): Example | null {
  for (const field of Object.keys(DURATION_TITLES) as (keyof typeof DURATION_TITLES)[]) {
    const { p95 = 0 } = report[field] ?? {};
    if (p95 > 0) return { condition: `${field}>=${durationText(p95)}`, hint: "the slowest 5%" };
  }
  return null;
}

/** A duration as a condition needs it. It is rounded down, so that it selects something. */
function durationText(seconds: number): string {
  const [size, unit] = seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e-3, "ms"] : [1e-6, "us"];
  return `${trimmed(Math.floor((seconds / size) * 100) / 100, 2)}${unit}`;
}

/** A robot, as a word that any field may contain. */
function robot(report: Report): Example | null {
  for (const { value } of rowsOf(report, "user_agent")) {
    const word = /[a-z]+bot\b/i.exec(value)?.[0];
    if (word !== undefined) return { condition: `not ${word}`, hint: "without this word" };
  }
  return null;
}

/** The most frequent value of each other field. */
function otherFields(report: Report): (Example | null)[] {
  const fields = Object.keys(report.top).filter((field) => !OWN.has(field));
  return fields.map((field) => {
    const row = rowsOf(report, field)[0];
    return row && /^[\w-]+$/.test(field) ? exampleOf(report, field, row) : null;
  });
}

function exampleOf(report: Report, field: string, { value, count }: TopRow): Example {
  const { one, many } = wordsOf(report);
  return { condition: `${field}=${quoted(value)}`, hint: plural(count, one, many) };
}
