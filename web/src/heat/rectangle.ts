/** A rectangle of the map: a range of time, a range of the duration, or both. */

import { type Cursor, clamped, moved, spanOf } from "../chart/cursor";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";
import { zoomed } from "../state/filter";
import { endOf, type Heat } from "./map";

/** What the cursor has marked; `null` in a direction in which everything is. */
export interface Rectangle {
  time: Cursor | null;
  step: Cursor | null;
}

export const NOTHING: Rectangle = { time: null, step: null };

const LOWER: readonly Operator[] = [">", ">="];
const UPPER: readonly Operator[] = ["<", "<="];

/** Returns the rectangle within the map, which may have changed. */
export function fitted({ time, step }: Rectangle, { spans, bounds }: Heat): Rectangle {
  return { time: clamped(time, spans.length), step: clamped(step, bounds.length - 1) };
}

/** Whether the rectangle is more than one place. */
export function isSelection({ time, step }: Rectangle): boolean {
  return [time, step].some((cursor) => cursor !== null && cursor.at !== cursor.anchor);
}

/** The meaning of a key for the map. */
export type KeyMeaning =
  | { type: "move"; rectangle: Rectangle }
  | { type: "select" }
  | { type: "cancel" };

const UPWARDS: Record<string, string> = { ArrowUp: "ArrowRight", ArrowDown: "ArrowLeft" };

/**
 * Returns the meaning of a key, or `null` if it has none: arrows to the sides move along the time, arrows
 * up and down along the duration, and with Shift they extend the rectangle.
 */
export function keyMeaning(
  rectangle: Rectangle,
  key: string,
  extend: boolean,
  { spans, bounds }: Heat,
): KeyMeaning | null {
  const { time, step } = rectangle;
  if (key === "Enter") return time || step ? { type: "select" } : null;
  if (key === "Escape") return step || isSelection(rectangle) ? { type: "cancel" } : null;
  const upwards = UPWARDS[key];
  if (upwards !== undefined) {
    const next = moved(step, upwards, extend, bounds.length - 1);
    return next && { type: "move", rectangle: { time, step: next } };
  }
  const next = moved(time, key, extend, spans.length);
  return next && { type: "move", rectangle: { time: next, step } };
}

/** The records in the rectangle. */
export function countIn({ spans, bounds }: Heat, { time, step }: Rectangle): number {
  const [first, last] = endsOf(time, spans.length);
  const [lowest, highest] = endsOf(step, bounds.length - 1);
  let sum = 0;
  for (let span = first; span <= last; span += 1) {
    for (let at = lowest; at <= highest; at += 1) sum += spans[span]?.counts[at] ?? 0;
  }
  return sum;
}

function endsOf(cursor: Cursor | null, count: number): [number, number] {
  if (cursor === null) return [0, count - 1];
  const { from, to } = spanOf(cursor);
  return [from, to];
}

/** The times of the rectangle, as stamps: the second is not included. */
export function timesOf(heat: Heat, { time }: Rectangle): [string, string] {
  const [first, last] = endsOf(time, heat.spans.length);
  return [heat.spans[first]?.start ?? "", endOf(heat, last)];
}

/**
 * The durations of the rectangle, in seconds: the second is not included. `null` at an end of the map,
 * beyond which there is no record.
 */
export function durationsIn({ bounds }: Heat, { step }: Rectangle): [number | null, number | null] {
  const [lowest, highest] = endsOf(step, bounds.length - 1);
  const least = lowest === 0 ? null : (bounds[lowest] ?? null);
  return [least, highest === bounds.length - 2 ? null : (bounds[highest + 1] ?? null)];
}

/** Narrows a filter to the rectangle, by the bounds of the server. */
export function narrowed(clauses: Clause[], heat: Heat, rectangle: Rectangle): Clause[] {
  const inTime = rectangle.time === null ? clauses : zoomed(clauses, ...timesOf(heat, rectangle));
  const [least, most] = durationsIn(heat, rectangle);
  const ends: [number | null, Operator, readonly Operator[]][] = [
    [least, ">=", LOWER],
    [most, "<", UPPER],
  ];
  const within = ends.reduce(
    (rest, [bound, op, same]) =>
      bound === null ? rest : bounded(rest, heat.field, op, same, bound),
    inTime,
  );
  const isBounded = within.some(
    ({ field, op }) => field === heat.field && [...LOWER, ...UPPER].includes(op),
  );
  // A rectangle as high as the map has the records with the duration, not those without.
  if (rectangle.step === null || isBounded) return within;
  return bounded(within, heat.field, ">=", LOWER, 0);
}

/** Replaces the clauses that bound a field at the same end. */
function bounded(
  clauses: Clause[],
  field: string,
  op: Operator,
  same: readonly Operator[],
  seconds: number,
): Clause[] {
  const others = clauses.filter((clause) => clause.field !== field || !same.includes(clause.op));
  return [...others, { field, op, values: [String(seconds)] }];
}
