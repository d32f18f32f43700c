import type { Window } from "../generated/Window";
import type { Noun } from "./kind";
import { count, plural } from "./number";

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/** Describes the window of a live feed: `Kept: the last 1 h, 3,000 of 40,000 requests`. */
export function windowText({ width_s, records }: Window, read: number, noun: Noun): string {
  const size =
    records === read
      ? `all ${plural(read, noun.one, noun.many)}`
      : `${count(records)} of ${plural(read, noun.one, noun.many)}`;
  return width_s === null ? `Kept: ${size}` : `Kept: the last ${width(width_s)}, ${size}`;
}

/** A width in the largest unit that leaves no fraction, usually as the user wrote it. */
function width(seconds: number): string {
  const [name, unit] = UNITS.find(([, unit]) => seconds >= unit && seconds % unit === 0) ?? [
    "s",
    1,
  ];
  return `${count(seconds / unit)}\u00a0${name}`;
}
