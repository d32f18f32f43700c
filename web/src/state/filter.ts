/**
 * Filters: lists of clauses, and the few ways in which the page changes them. Every
 * function gives back a new list and leaves the one it was given alone.
 */

import { hexOf } from "../format/hex";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";

/** A value of a list: its text, and its bytes where the text had to replace some. */
export interface Value {
  value: string;
  value_hex?: string | undefined;
}

/**
 * Adds a value to the ones that are let through, or takes it out again if it is among
 * them. Values of one field share one clause, since clauses are joined by *and*.
 */
export function toggleInclude(clauses: Clause[], field: string, value: Value): Clause[] {
  if (isIncluded(clauses, field, value)) return withoutValue(clauses, field, value, false);
  const kept = withoutValue(clauses, field, value, true);
  const at = kept.findIndex((clause) => clause.field === field && isInclude(clause.op));
  if (at < 0) return [...kept, clauseOf(field, value, false)];
  return kept.map((clause, index) => (index === at ? joined(clause, value) : clause));
}

/** Keeps a value out; if it was among the included, it is that no longer. */
export function exclude(clauses: Clause[], field: string, value: Value): Clause[] {
  const kept = withoutValue(clauses, field, value, false);
  const wanted = clauseOf(field, value, true);
  const at = kept.findIndex((clause) => clause.field === field && clause.op === wanted.op);
  if (at < 0) return [...kept, wanted];
  return kept.map((clause, index) =>
    index === at && !holds(clause, value)
      ? { ...clause, values: [...clause.values, ...wanted.values] }
      : clause,
  );
}

/** True where a clause lets this value through by name. */
export function isIncluded(clauses: Clause[], field: string, value: Value): boolean {
  return clauses.some(
    (clause) => clause.field === field && isInclude(clause.op) && holds(clause, value),
  );
}

/** From `start` up to and not including `end`; replaces the time range there was. */
export function zoomed(clauses: Clause[], start: string, end: string): Clause[] {
  return [
    ...withoutTime(clauses),
    { field: "time", op: ">=", values: [start] },
    { field: "time", op: "<", values: [end] },
  ];
}

/** Lets every time through. */
export function withoutTime(clauses: Clause[]): Clause[] {
  return clauses.filter((clause) => clause.field !== "time");
}

/** The two ends that `zoomed` has set. */
export function timeRange(clauses: Clause[]): { start: string; end: string } | null {
  const end = (op: Operator) =>
    clauses.find((clause) => clause.field === "time" && clause.op === op)?.values[0];
  const start = end(">=");
  const until = end("<");
  return start !== undefined && until !== undefined ? { start, end: until } : null;
}

/** True for the clauses that `zoomed` sets. */
export function isRangeEnd(clause: Clause): boolean {
  return clause.field === "time" && (clause.op === ">=" || clause.op === "<");
}

/** Drops one clause. */
export function withoutClause(clauses: Clause[], dropped: Clause): Clause[] {
  return clauses.filter((clause) => clause !== dropped);
}

/** True where both ask the same, in the same order. */
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

/** How a clause of this operator writes the value. */
function written(op: Operator, value: Value): string {
  return isHex(op) ? bytesOf(value) : value.value;
}

function holds(clause: Clause, value: Value): boolean {
  // A text clause cannot mean a value whose text is only a stand-in for its bytes.
  if (value.value_hex !== undefined && !isHex(clause.op)) return false;
  return clause.values.includes(written(clause.op, value));
}

function clauseOf(field: string, value: Value, negative: boolean): Clause {
  const hex = value.value_hex !== undefined;
  const op: Operator = negative ? (hex ? "!=x" : "!=") : hex ? "=x" : "=";
  return { field, op, values: [written(op, value)] };
}

/** Adds a value to an include; text and bytes can only stand together as bytes. */
function joined(clause: Clause, value: Value): Clause {
  if (clause.op === "=" && value.value_hex !== undefined) {
    return { ...clause, op: "=x", values: [...clause.values.map(hexOf), value.value_hex] };
  }
  return { ...clause, values: [...clause.values, written(clause.op, value)] };
}

function withoutValue(clauses: Clause[], field: string, value: Value, negative: boolean): Clause[] {
  const meant = negative ? isExclude : isInclude;
  return clauses.flatMap((clause) => {
    if (clause.field !== field || !meant(clause.op) || !holds(clause, value)) return [clause];
    const gone = written(clause.op, value);
    const values = clause.values.filter((kept) => kept !== gone);
    return values.length > 0 ? [{ ...clause, values }] : [];
  });
}
