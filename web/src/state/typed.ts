/** Completions of conditions that a person types: `path~^/api`, `status>=400`. */

import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import { quoted } from "./conditionText";

/** Fields of every log without a list of values. */
const NUMBERS = ["bytes", "time"];
/** Maximum number of completions. */
const VALUES_MAX = 20;

/**
 * Completions of the text: fields of the data, or frequent values of the field. Only the last of
 * several conditions is completed.
 */
export function completionsOf(text: string, report: Report): string[] {
  const start = /^.*(?:\s(?:and|or|not)\s+|\()/is.exec(text)?.[0] ?? "";
  return endsOf(text.slice(start.length), report).map((end) => start + end);
}

function endsOf(text: string, report: Report): string[] {
  const [, field, sign] = /^\s*([^=!~^<>:]*?)\s*(!=|=|:)/.exec(text) ?? [];
  if (field === undefined) return fieldsOf(report);
  const rows = (report.top[field] ?? []).filter((row) => !row.remainder && row.value !== "");
  return rows
    .filter((row) => row.value_hex === undefined && visible(row.value) === row.value)
    .slice(0, VALUES_MAX)
    .map((row) => `${field}${sign}${quoted(row.value)}`);
}

function fieldsOf(report: Report): string[] {
  const fields = Object.keys(DURATION_TITLES) as (keyof typeof DURATION_TITLES)[];
  const durations = fields.filter((field) => report[field]);
  return [...Object.keys(report.top), ...NUMBERS, ...durations].sort();
}
