/** Sizes in decimal units, in the form that docs/vocabulary.md describes. */

import { threeDigits } from "./number";

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** `0 B`, `999 B`, `1.15 GB`: three significant digits. */
export function bytes(value: number): string {
  let unit = 0;
  let shown = value;
  // 999.5 and more would be printed as 1000 of the smaller unit.
  while (shown >= 999.5 && unit < UNITS.length - 1) {
    shown /= 1000;
    unit += 1;
  }
  // The greatest sum of the server also stands for any greater one.
  const bound = value >= 2 ** 64 ? "≥ " : "";
  return `${bound}${unit === 0 ? shown.toFixed(0) : threeDigits(shown)} ${UNITS[unit]}`;
}

/** Bytes a second: `12.5 MB/s`. */
export function rate(bytesPerSecond: number): string {
  return `${bytes(bytesPerSecond)}/s`;
}
