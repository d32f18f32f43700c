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

/**
 * Completions of the text: fields of the data, or frequent values of the field. Those that begin with
 * what is typed are before those that only contain it. Only the last of several conditions is
 * completed.
 */
export function completionsOf(text: string, report: Report): Completion[] {
  const start = /^.*(?:\s(?:and|or|not)\s+|^not\s+|\()/is.exec(text)?.[0] ?? "";
  const [, field, sign, value = ""] =
    /^\s*([^=!~^<>:]*?)\s*(!=|=|:)(.*)$/s.exec(text.slice(start.length)) ?? [];
  const [all, typed] =
    field === undefined
      ? [fieldsOf(report), text.slice(start.length).trim()]
      : [valuesOf(field, `${field}${sign}`, report), value.trim().replace(/^"/, "")];
  const found = rankedBy(typed, all).map((one) => ({ ...one, text: start + one.text }));
  // What is typed already is no completion.
  return found.filter((one) => one.text !== text).slice(0, COMPLETIONS_MAX);
}

/** Whether a text can be a filter as it is: no bracket is open, and a value follows the sign. */
export function isWhole(text: string): boolean {
  const outside = text.replace(/"(?:\\.|[^"\\])*"|'[^']*'/gs, "x");
  const opened = outside.split("(").length;
  return (
    opened === outside.split(")").length && !/(?:[=!~^<>:]|\b(?:and|or|not))\s*$/i.test(outside)
  );
}

function rankedBy(typed: string, all: Completion[]): Completion[] {
  const wanted = typed.toLowerCase();
  const places = all.map((one) => ({ one, at: one.label.toLowerCase().indexOf(wanted) }));
  const begin = places.filter(({ at }) => at === 0);
  const contain = places.filter(({ at }) => at > 0);
  return [...begin, ...contain].map(({ one }) => one);
}

function valuesOf(field: string, before: string, report: Report): Completion[] {
  return (ownValue(report.top, field) ?? []).filter(canBeTyped).map(({ value, count }) => ({
    text: before + quoted(value),
    label: value,
    count,
    isField: false,
  }));
}

function canBeTyped({ value, value_hex, remainder }: TopRow): boolean {
  return !remainder && value !== "" && value_hex === undefined && visible(value) === value;
}

function fieldsOf(report: Report): Completion[] {
  const durations = Object.keys(DURATION_TITLES) as (keyof typeof DURATION_TITLES)[];
  const fields: [field: string, sign: string][] = [
    ...Object.keys(report.top).map((field): [string, string] => [field, "="]),
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
