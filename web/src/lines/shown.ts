/** Lines as the page shows them, and the windows in which they are fetched. */

import type { SelectedLine } from "../generated/SelectedLine";

/** A line of the selection. */
export interface ShownLine {
  /** Its place and its fields. */
  line: SelectedLine;
  /** The line itself; `null` if it was not kept, or is still being read. */
  text: string | null;
  /** Whether `text` is only the beginning of the line. */
  isCut: boolean;
  /** The bytes of `text`, if it had to replace some that are not UTF-8. */
  bytes?: Uint8Array<ArrayBuffer>;
}

/** Lines that are fetched at once. */
export const WINDOW = 200;

/** Lines that are kept; those far from the screen are forgotten. */
export const KEPT_MAX = 20 * WINDOW;

/**
 * The first number of the lines to fetch, so that those from `first` to `end` are there; `null` if
 * they are. Windows begin at multiples of their length, so that they do not overlap.
 */
export function missingFrom(
  lines: ReadonlyMap<number, ShownLine>,
  first: number,
  end: number,
): number | null {
  for (let number = first; number < end; number += 1) {
    if (lines.has(number)) continue;
    const start = number - (number % WINDOW);
    // A window of long lines comes in parts.
    return lines.has(start) ? number : start;
  }
  return null;
}

/** The lines without those that are far from the number. */
export function keptAround(
  lines: ReadonlyMap<number, ShownLine>,
  number: number,
): Map<number, ShownLine> {
  const isNear = ([at]: [number, ShownLine]) => Math.abs(at - number) <= KEPT_MAX / 2;
  return new Map(lines.size > KEPT_MAX ? [...lines].filter(isNear) : lines);
}
