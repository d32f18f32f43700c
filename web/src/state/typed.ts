/** Conditions that a person types: `path~^/api`, `status>=400`. */

import { visible } from "../format/text";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";
import type { Report } from "../generated/Report";
import { exclude, isIncluded, sameClauses, toggleInclude } from "./filter";

/** Longer signs come first, so that `<=` is not parsed as `<`. */
const SIGNS: Operator[] = ["!=", "!~", "^=", "<=", ">=", "=", "~", "<", ">"];
/** Fields of every log without a list of values. */
const NUMBERS = ["bytes", "time"];
/** Maximum number of completions. */
const VALUES_MAX = 20;

/** Parses field, operator and value, with optional spaces. Returns `null` if one is missing. */
export function parseClause(text: string): Clause | null {
  const at = text.search(/[=!~^<>]/);
  if (at < 0) return null;
  const field = text.slice(0, at).trim();
  const rest = text.slice(at);
  const op = SIGNS.find((sign) => rest.startsWith(sign));
  const value = rest.slice(op?.length).trim();
  return field !== "" && op !== undefined && value !== "" ? { field, op, values: [value] } : null;
}

/** Returns the filter with one more condition, or the same filter if it has that condition. */
export function withClause(clauses: Clause[], added: Clause): Clause[] {
  const { field, op } = added;
  const value = { value: added.values[0]! };
  if (field !== "time" && op === "=") {
    return isIncluded(clauses, field, value) ? clauses : toggleInclude(clauses, field, value);
  }
  if (op === "!=") return exclude(clauses, field, value);
  if (clauses.some((clause) => sameClauses([clause], [added]))) return clauses;
  // Of two lower or two upper ends only one has an effect, so the new one replaces the old.
  const rest =
    field === "time"
      ? clauses.filter((clause) => clause.field !== field || clause.op !== op)
      : clauses;
  return [...rest, added];
}

/** Completions of the text: fields of the data, or frequent values of the field. */
export function completionsOf(text: string, report: Report): string[] {
  const [, field, sign] = /^\s*([^=!~^<>]*?)\s*(!=|=)/.exec(text) ?? [];
  if (field === undefined) return fieldsOf(report);
  const rows = (report.top[field] ?? []).filter((row) => !row.remainder && row.value !== "");
  return rows
    .filter((row) => row.value_hex === undefined && visible(row.value) === row.value)
    .slice(0, VALUES_MAX)
    .map((row) => `${field}${sign}${row.value}`);
}

function fieldsOf(report: Report): string[] {
  const durations = (["request_time", "upstream_time"] as const).filter(
    (field) => report[field] !== null,
  );
  return [...Object.keys(report.top), ...NUMBERS, ...durations].sort();
}
