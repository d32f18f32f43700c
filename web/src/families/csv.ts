/** A list as a table for spreadsheets, as the exports of the server write it. */

import type { FieldList } from "../generated/FieldList";
import type { GroupRow } from "../generated/GroupRow";

/** The values of a list, each with its records, errors, bytes and other measures. */
export function csvOf({ group }: FieldList): string {
  const measures = Object.keys(group.rows[0]?.measures ?? {}).filter((name) => !BASIC.has(name));
  const head = [group.field, "count", "errors", "bytes_sent", ...measures];
  const lines = group.rows.map((row) => [cellOfRow(row), ...numbersOf(row, measures)]);
  const all = [head.map(cellOf), ...lines];
  return `${all.map((cells) => cells.join(",")).join("\n")}\n`;
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

/** A spreadsheet would take text that begins like this for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** A cell that a spreadsheet takes for the text that it is. */
function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
