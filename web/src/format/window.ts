import type { Window } from "../generated/Window";
import type { Noun } from "./kind";
import { count, plural } from "./number";
import { clockText, dateText, parseStamp } from "./time";

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/**
 * Describes the window of a live feed: `Kept: the last 1 h, 3,000 of 40,000 requests, complete since
 * 2025-10-09 04:33:19`. Until the window is full it says how far it reaches.
 */
export function windowText(window: Window, read: number, noun: Noun): string {
  const { width_s, records, complete_since } = window;
  const size =
    records === read
      ? `all ${plural(read, noun.one, noun.many)}`
      : `${count(records)} of ${plural(read, noun.one, noun.many)}`;
  const kept = width_s === null ? size : `the last ${width(width_s)}, ${size}`;
  const since = complete_since === undefined ? null : parseStamp(complete_since);
  return since === null
    ? `Kept: ${kept}`
    : `Kept: ${kept}, complete since ${dateText(since)} ${clockText(since, true)}`;
}

/** A width in the largest unit that leaves no fraction, usually as the user wrote it. */
function width(seconds: number): string {
  const [name, unit] = UNITS.find(([, unit]) => seconds >= unit && seconds % unit === 0) ?? [
    "s",
    1,
  ];
  return `${count(seconds / unit)}\u00a0${name}`;
}
