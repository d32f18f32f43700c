/** Completions of conditions that a person types: `path~^/api`, `status>=400`. */

import { ownValue } from "../format/ownValue";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";
import { DURATION_TITLES } from "../generated/words";
import { quoted } from "./conditionText";

/** Fields of every log without a list of values, with the sign that is most of use for them. */
const NUMBERS: readonly [field: string, sign: string][] = [
  ["bytes", ">"],
  ["time", ">="],
];

/** The sign that is most of use for durations. */
const DURATION_SIGN = ">=";

/** Maximum number of completions. */
const COMPLETIONS_MAX = 20;

/** A way in which the text can go on. */
export interface Completion {
  /** The whole text with it. */
  text: string;
  /** The field or the value that it adds. */
  label: string;
  /** The records with this value, or the values of this field; `null` if it has no list of them. */
  count: number | null;
  /** Whether a sign and a value have to follow. */
  isField: boolean;
}

/** What completions are made of. */
export interface Known {
  report: Report;
  /** The fields that follow from others, which have lists too. */
  derived: readonly string[];
  /** The values of a field that contain what is typed, if they were asked for. */
  listed: { field: string; rows: readonly TopRow[] } | null;
}

/**
 * Completions of the text: fields of the data, or values of the field. Those that begin with what is
 * typed are before those that only contain it. Only the last of several conditions is completed, and
 * the last of several values.
 */
export function completionsOf(text: string, known: Known): Completion[] {
  const { start, value } = lastCondition(text);
  const found =
    value === null
      ? rankedBy(text.slice(start).trim(), fieldsOf(known), start, text)
      : rankedBy(value.typed, valuesOf(value.field, known), value.start, text);
  // What is typed already is no completion.
  return found.filter((one) => one.text !== text).slice(0, COMPLETIONS_MAX);
}

/** A value of a field that a person types. */
export interface TypedValue {
  field: string;
  /** What is typed of it, without quotation marks. */
  typed: string;
}

/** The value that is typed at the end of a text; `null` if none is. */
export function typedValue(text: string): TypedValue | null {
  const { value } = lastCondition(text);
  return value && { field: value.field, typed: value.typed };
}

/** The last condition of a text: its place, and that of its last value if it has a sign. */
function lastCondition(text: string): {
  start: number;
  value: (TypedValue & { start: number }) | null;
} {
  const outside = withoutQuoted(text);
  const start = /^.*(?:\s(?:and|or|not)\s+|^not\s+|\()/is.exec(outside)?.[0].length ?? 0;
  const [, before, sign] = /^(\s*[^=!~^<>:]*?)\s*(!=|=|:)/s.exec(outside.slice(start)) ?? [];
  if (before === undefined || sign === undefined) return { start, value: null };
  const signed = text.indexOf(sign, start + before.length) + sign.length;
  const comma = outside.lastIndexOf(",");
  const valueStart = comma < signed ? signed : comma + 1;
  const written = text.slice(valueStart).trim();
  const typed = written.startsWith('"') ? written.slice(1).replace(/\\(.)/gs, "$1") : written;
  const field = text.slice(start, start + before.length).trim();
  return { start, value: { field, typed, start: valueStart } };
}

/** A text with letters in place of what is in quotation marks, also in those that are not closed. */
function withoutQuoted(text: string): string {
  const blank = (part: string) => "x".repeat(part.length);
  return text.replace(/"(?:\\.|[^"\\])*"?|'[^']*'/gs, blank);
}

/** Whether a text can be a filter as it is: no bracket is open, and a value follows the sign. */
export function isWhole(text: string): boolean {
  const outside = text.replace(/"(?:\\.|[^"\\])*"|'[^']*'/gs, "x");
  const opened = outside.split("(").length;
  return (
    opened === outside.split(")").length && !/(?:[=!~^<>:]|\b(?:and|or|not))\s*$/i.test(outside)
  );
}

/** Those that contain what is typed, after what stands before `start` in the text. */
function rankedBy(typed: string, all: Completion[], start: number, text: string): Completion[] {
  const wanted = typed.toLowerCase();
  const places = all.map((one) => ({ one, at: one.label.toLowerCase().indexOf(wanted) }));
  const begin = places.filter(({ at }) => at === 0);
  const contain = places.filter(({ at }) => at > 0);
  const before = text.slice(0, start);
  return [...begin, ...contain].map(({ one }) => ({ ...one, text: before + one.text }));
}

function valuesOf(field: string, { report, listed }: Known): Completion[] {
  const asked = listed?.field === field ? listed.rows : null;
  const rows = asked ?? ownValue(report.top, field) ?? [];
  return rows.filter(canBeTyped).map(({ value, count }) => ({
    text: quoted(value),
    label: value,
    count,
    isField: false,
  }));
}

function canBeTyped({ value, value_hex, remainder, absent }: TopRow): boolean {
  if (remainder || absent || value === "" || value_hex !== undefined) return false;
  return visible(value) === value;
}

function fieldsOf({ report, derived }: Known): Completion[] {
  const durations = Object.keys(DURATION_TITLES) as (keyof typeof DURATION_TITLES)[];
  const fields: [field: string, sign: string][] = [
    ...[...new Set([...Object.keys(report.top), ...derived])].map((field): [string, string] => [
      field,
      "=",
    ]),
    ...NUMBERS,
    ...durations
      .filter((field) => report[field])
      .map((field): [string, string] => [field, DURATION_SIGN]),
  ];
  return fields
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([field, sign]) => ({
      text: field + sign,
      label: field,
      count: ownValue(report.distinct, field) ?? null,
      isField: true,
    }));
}
