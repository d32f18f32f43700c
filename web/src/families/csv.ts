/** A list as a table for spreadsheets, as `csv.rs` of the server writes it. */

import type { FieldList } from "../generated/FieldList";
import type { GroupRow } from "../generated/GroupRow";

/** The values of a list, each with its records, errors, bytes and other measures. */
export function csvOf({ group }: FieldList): string {
  const measures = Object.keys(group.rows[0]?.measures ?? {}).filter((name) => !BASIC.has(name));
  const head = [group.field, "count", "errors", "bytes_sent", ...measures];
  const lines = group.rows.map((row) => [cellOfRow(row), ...numbersOf(row, measures)]);
  const all = [head.map(cellOf), ...lines];
  return all.map((cells) => `${cells.join(",")}\r\n`).join("");
}

/** The measures that each row has as members. */
const BASIC = new Set(["requests", "errors", "bytes"]);

/** The value; nothing for the records without one, whereas an empty value has quotation marks. */
function cellOfRow({ value, absent }: GroupRow): string {
  if (absent) return "";
  return value === "" ? '""' : cellOf(value);
}

function numbersOf(row: GroupRow, measures: readonly string[]): string[] {
  const further = measures.map((name) => row.measures?.[name] ?? "");
  return [row.count, row.errors, row.bytes_sent, ...further].map(String);
}

/**
 * A spreadsheet would take text that begins like this for a formula. A negative number is none, nor is
 * `-` alone.
 */
const FORMULA = /^([=+@\t\r\n]|-(?!$|((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)$))/i;

/** The separators and quotation marks of some spreadsheet. */
const RESERVED = /[",;'\t\r\n]/;

/** A cell that a spreadsheet takes for the text that it is. */
export function cellOf(text: string): string {
  const isFormula = FORMULA.test(text);
  if (!isFormula && !RESERVED.test(text)) return text;
  return `"${isFormula ? "'" : ""}${text.replaceAll('"', '""')}"`;
}
