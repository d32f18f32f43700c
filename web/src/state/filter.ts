/**
 * Filters: lists of clauses, and the changes that the page makes to them. Every function returns a
 * new list and leaves its argument unchanged.
 */

import { hexOf } from "../format/hex";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";

/** A value of a list: its text, and its bytes if they are not valid UTF-8. */
export interface Value {
  value: string;
  value_hex?: string | undefined;
}

/**
 * Includes a value, or removes it if it is included. The included values of a field share one
 * clause, because clauses are joined by *and*.
 */
export function toggleInclude(clauses: Clause[], field: string, value: Value): Clause[] {
  if (isIncluded(clauses, field, value)) return withoutValue(clauses, field, value, false);
  const rest = withoutValue(clauses, field, value, true);
  const at = rest.findIndex((clause) => clause.field === field && isInclude(clause.op));
  if (at < 0) return [...rest, clauseOf(field, value, false)];
  return rest.map((clause, index) => (index === at ? joined(clause, value) : clause));
}

/** Excludes a value, and removes it from the included ones. */
export function exclude(clauses: Clause[], field: string, value: Value): Clause[] {
  const rest = withoutValue(clauses, field, value, false);
  const wanted = clauseOf(field, value, true);
  const at = rest.findIndex((clause) => clause.field === field && clause.op === wanted.op);
  if (at < 0) return [...rest, wanted];
  return rest.map((clause, index) =>
    index === at && !holds(clause, value)
      ? { ...clause, values: [...clause.values, ...wanted.values] }
      : clause,
  );
}

/** Whether a clause includes this value by name. */
export function isIncluded(clauses: Clause[], field: string, value: Value): boolean {
  return clauses.some(
    (clause) => clause.field === field && isInclude(clause.op) && holds(clause, value),
  );
}

/** Whether a clause includes values of a field by name. */
export function isIncludeOf(clause: Clause, field: string): boolean {
  return clause.field === field && isInclude(clause.op);
}

/** Replaces the time range by that from `start` to `end`, exclusive. */
export function zoomed(clauses: Clause[], start: string, end: string): Clause[] {
  return [
    ...withoutTime(clauses),
    { field: "time", op: ">=", values: [start] },
    { field: "time", op: "<", values: [end] },
  ];
}

/** Removes all clauses about time. */
export function withoutTime(clauses: Clause[]): Clause[] {
  return clauses.filter((clause) => clause.field !== "time");
}

/** Returns the range that `zoomed` has set. */
export function timeRange(clauses: Clause[]): { start: string; end: string } | null {
  const end = (op: Operator) =>
    clauses.find((clause) => clause.field === "time" && clause.op === op)?.values[0];
  const start = end(">=");
  const until = end("<");
  return start !== undefined && until !== undefined ? { start, end: until } : null;
}

/** Whether `zoomed` sets such a clause. */
export function isRangeEnd(clause: Clause): boolean {
  return clause.field === "time" && (clause.op === ">=" || clause.op === "<");
}

/** Removes one clause. */
export function withoutClause(clauses: Clause[], dropped: Clause): Clause[] {
  return clauses.filter((clause) => clause !== dropped);
}

/** Whether both have the same clauses in the same order. */
export function sameClauses(a: Clause[], b: Clause[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function isInclude(op: Operator): boolean {
  return op === "=" || op === "=x";
}

function isExclude(op: Operator): boolean {
  return op === "!=" || op === "!=x";
}

function isHex(op: Operator): boolean {
  return op === "=x" || op === "!=x";
}

function bytesOf(value: Value): string {
  return value.value_hex ?? hexOf(value.value);
}

/** The value in the form that a clause of this operator needs. */
function encoded(op: Operator, value: Value): string {
  return isHex(op) ? bytesOf(value) : value.value;
}

function holds(clause: Clause, value: Value): boolean {
  // A text clause cannot name a value whose bytes are not valid UTF-8.
  if (value.value_hex !== undefined && !isHex(clause.op)) return false;
  return clause.values.includes(encoded(clause.op, value));
}

function clauseOf(field: string, value: Value, negative: boolean): Clause {
  const hex = value.value_hex !== undefined;
  const op: Operator = negative ? (hex ? "!=x" : "!=") : hex ? "=x" : "=";
  return { field, op, values: [encoded(op, value)] };
}

/** Adds a value to an include. A clause has either texts or bytes, so texts become bytes. */
function joined(clause: Clause, value: Value): Clause {
  if (clause.op === "=" && value.value_hex !== undefined) {
    return { ...clause, op: "=x", values: [...clause.values.map(hexOf), value.value_hex] };
  }
  return { ...clause, values: [...clause.values, encoded(clause.op, value)] };
}

function withoutValue(clauses: Clause[], field: string, value: Value, negative: boolean): Clause[] {
  const meant = negative ? isExclude : isInclude;
  return clauses.flatMap((clause) => {
    if (clause.field !== field || !meant(clause.op) || !holds(clause, value)) return [clause];
    const gone = encoded(clause.op, value);
    const values = clause.values.filter((rest) => rest !== gone);
    return values.length > 0 ? [{ ...clause, values }] : [];
  });
}
