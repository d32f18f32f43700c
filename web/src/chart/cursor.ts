/** The bucket cursor and the selection, by pointer or by keyboard. */

/** `anchor` is the other end of a selection, or the same bucket where there is none. */
export interface Cursor {
  at: number;
  anchor: number;
}

/** Where a key moves the cursor; `null` for keys that mean something else. */
export function moved(
  cursor: Cursor | null,
  key: string,
  extend: boolean,
  count: number,
): Cursor | null {
  const target = targetOf(cursor, key, count);
  if (target === null || count === 0) return null;
  const at = Math.min(Math.max(target, 0), count - 1);
  return { at, anchor: extend && cursor ? cursor.anchor : at };
}

/** What a key asks of the chart; `null` for keys that are none of its business. */
export type KeyMeaning =
  | { type: "move"; cursor: Cursor }
  | { type: "zoom"; cursor: Cursor }
  | { type: "give up" };

/** Reads a key. Escape belongs to the chart only while there is a selection to give up. */
export function keyMeaning(
  cursor: Cursor | null,
  key: string,
  extend: boolean,
  count: number,
): KeyMeaning | null {
  if (key === "Enter") return cursor && { type: "zoom", cursor };
  if (key === "Escape") return cursor && cursor.at !== cursor.anchor ? { type: "give up" } : null;
  const next = moved(cursor, key, extend, count);
  return next && { type: "move", cursor: next };
}

/** First and last bucket of the selection. */
export function spanOf(cursor: Cursor): { from: number; to: number } {
  return { from: Math.min(cursor.at, cursor.anchor), to: Math.max(cursor.at, cursor.anchor) };
}

/** The cursor where the buckets have changed under it. */
export function clamped(cursor: Cursor | null, count: number): Cursor | null {
  if (!cursor || count === 0) return null;
  return { at: Math.min(cursor.at, count - 1), anchor: Math.min(cursor.anchor, count - 1) };
}

function targetOf(cursor: Cursor | null, key: string, count: number): number | null {
  const page = Math.max(1, Math.round(count / 10));
  const steps: Record<string, number> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    PageUp: -page,
    PageDown: page,
  };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const by = steps[key];
  if (by === undefined) return null;
  // The first key press only brings the cursor up, at the end it comes from.
  if (!cursor) return by > 0 ? 0 : count - 1;
  return cursor.at + by;
}
