/** The list whose values are all at hand: it is opened, searched, walked through and saved. */

import { dispatch, families } from "../state/store";

/** The rows that each step adds. */
export const STEP = 200;

/** The most rows at a time, so that the page stays light: those after them take their place. */
const ROWS_MAX = 1_000;

/** Opens the whole list of a field. */
export function openWhole(field: string): void {
  const whole = { field, search: "", from: 0, count: STEP, isSaving: false };
  dispatch({ type: "whole_opened", whole });
}

/** Closes the whole list; returns whether there was one. */
export function closeWhole(): boolean {
  const wasOpen = families.peek().whole !== null;
  if (wasOpen) dispatch({ type: "whole_opened", whole: null });
  return wasOpen;
}

/** Shows the values that contain a text. */
export function searchWhole(search: string): void {
  dispatch({ type: "whole_changed", part: { search, from: 0, count: STEP } });
}

/** Shows further rows; returns the place on the screen of the first of them. */
export function showMore(): number {
  const { from = 0, count = 0 } = families.peek().whole ?? {};
  const isFull = count >= ROWS_MAX;
  const part = isFull ? { from: from + count, count: STEP } : { count: count + STEP };
  dispatch({ type: "whole_changed", part });
  return isFull ? 0 : count;
}

/** Shows the rows before those that are shown. */
export function showEarlier(): void {
  const { from = 0 } = families.peek().whole ?? {};
  const part = { from: Math.max(0, from - ROWS_MAX), count: ROWS_MAX };
  dispatch({ type: "whole_changed", part });
}
