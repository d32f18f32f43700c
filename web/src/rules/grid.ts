/** The picture of rates and bursts in words and numbers. Pure functions. */

import { count, plural, trimmed } from "../format/number";
import type { LimitGrid } from "../generated/LimitGrid";
import type { Suggestion } from "../generated/Suggestion";

/** The number that the colour of a cell stands for. */
export type Measure = "keys" | "requests";

interface Noun {
  one: string;
  many: string;
}

/** The darkness of a cell, from 0 to 1. Only none is 0, so that one can be told from none. */
export function shareOf(value: number, most: number): number {
  if (value === 0) return 0;
  return 0.12 + (0.88 * Math.log1p(value)) / Math.log1p(most);
}

/** `rate=5r/s burst=20: 14 clients over the limit, 300 requests rejected`. */
export function cellText(
  { rates, bursts, keys, requests }: LimitGrid,
  row: number,
  column: number,
  { one, many }: Noun,
): string {
  const caught = plural(keys[row]![column]!, one, many);
  const rejected = plural(requests[row]![column]!, "request");
  const setting = `rate=${rates[row]!.setting} burst=${count(bursts[column]!)}`;
  return `${setting}: ${caught} over the limit, ${rejected} rejected`;
}

/** The cell to which a key of the keyboard leads; `null` if it is another key. */
export function cellAfter(
  key: string,
  [row, column]: [number, number],
  { rates, bursts }: LimitGrid,
): [number, number] | null {
  const [rows, columns] = [rates.length - 1, bursts.length - 1];
  switch (key) {
    case "ArrowLeft":
      return [row, Math.max(0, column - 1)];
    case "ArrowRight":
      return [row, Math.min(columns, column + 1)];
    case "ArrowUp":
      return [Math.max(0, row - 1), column];
    case "ArrowDown":
      return [Math.min(rows, row + 1), column];
    case "Home":
      return [row, 0];
    case "End":
      return [row, columns];
    case "PageUp":
      return [0, column];
    case "PageDown":
      return [rows, column];
    default:
      return null;
  }
}

/** Why a setting is suggested. */
export function suggestionText(
  { keys, requests, highest_below, lowest_above }: Suggestion,
  { one, many }: Noun,
): string {
  if (lowest_above === null) {
    return `no setting tells a few ${many} from the others, so this is over all peaks, and rejects nothing.`;
  }
  const over = plural(keys, one, many);
  return (
    `it rejects nobody who looks like a person or is good. ${over} over it ${keys === 1 ? "has" : "have"} peaks of ` +
    `${trimmed(lowest_above, 1)} and more, the others of at most ${trimmed(highest_below, 1)}. ` +
    `It rejects ${plural(requests, "request")}.`
  );
}
