import type { Window } from "../generated/Window";
import type { Noun } from "./field";
import { count } from "./number";

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** What a window keeps of a feed: `Kept: the last 1 h, 3,000 of 40,000 requests`. */
export function keptText({ width_s, records }: Window, read: number, noun: Noun): string {
  const kept =
    records === read
      ? `all ${count(read)} ${noun}s`
      : `${count(records)} of ${count(read)} ${noun}s`;
  return width_s === null ? `Kept: ${kept}` : `Kept: the last ${width(width_s)}, ${kept}`;
}

/** A width as it was asked for: in the largest unit that leaves no fraction. */
function width(seconds: number): string {
  const [name, unit] = UNITS.find(([, unit]) => seconds >= unit && seconds % unit === 0) ?? [
    "s",
    1,
  ];
  return `${count(seconds / unit)}\u00a0${name}`;
}
