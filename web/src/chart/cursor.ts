/** The bucket cursor and the selection, by pointer or by keyboard. */

/** `anchor` is the other end of a selection; without a selection it equals `at`. */
export interface Cursor {
  at: number;
  anchor: number;
}

/** Returns the cursor after a key press, or `null` if the key does not move it. */
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

/** The meaning of a key for the chart. */
export type KeyMeaning =
  | { type: "move"; cursor: Cursor }
  | { type: "zoom"; cursor: Cursor }
  | { type: "cancel" };

/**
 * Returns the meaning of a key, or `null` if it has none. Escape has one only while there is a
 * selection to cancel.
 */
export function keyMeaning(
  cursor: Cursor | null,
  key: string,
  extend: boolean,
  count: number,
): KeyMeaning | null {
  if (key === "Enter") return cursor && { type: "zoom", cursor };
  if (key === "Escape") return cursor && cursor.at !== cursor.anchor ? { type: "cancel" } : null;
  const next = moved(cursor, key, extend, count);
  return next && { type: "move", cursor: next };
}

/** Returns the first and the last bucket of the selection. */
export function spanOf(cursor: Cursor): { from: number; to: number } {
  return { from: Math.min(cursor.at, cursor.anchor), to: Math.max(cursor.at, cursor.anchor) };
}

/** Returns the cursor moved into the range of the buckets, which may have changed. */
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
  // The first key press only shows the cursor, at the end where it enters.
  if (!cursor) return by > 0 ? 0 : count - 1;
  return cursor.at + by;
}
