/** Lengths of time for people, in the form that docs/vocabulary.md describes. */

import { plural, threeDigits } from "./number";

/**
 * A duration in seconds with three significant digits, or above a minute in two units: `850 µs`,
 * `12.5 ms`, `1.20 s`, `2 min 5 s`.
 */
export function duration(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (seconds < 0.0009995) return `${threeDigits(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${threeDigits(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${threeDigits(seconds)} s`;
  return span(seconds);
}

/** A round duration without further digits: `500 ms`, `12.5 ms`, `2 s`. */
export function shortDuration(seconds: number): string {
  const digits = (value: number) => String(Number(value.toPrecision(3)));
  if (seconds === 0) return "0 s";
  if (seconds < 0.0009995) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 599.5) return `${digits(seconds)} s`;
  return span(seconds);
}

const SPAN_UNITS: [number, string, string][] = [
  [86_400, "day", "days"],
  [3_600, "h", "h"],
  [60, "min", "min"],
  [1, "s", "s"],
];

/** A length of time in its two largest units: `17 days 3 h`, `5 min 2 s`. */
export function span(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole === 0) return "0 s";
  const first = SPAN_UNITS.findIndex(([size]) => whole >= size);
  const parts: string[] = [];
  let rest = whole;
  for (const [size, one, many] of SPAN_UNITS.slice(first, first + 2)) {
    const times = Math.floor(rest / size);
    rest -= times * size;
    if (times > 0) parts.push(`${times} ${times === 1 ? one : many}`);
  }
  return parts.join(" ");
}

/** Months and years are those of the calendar; the server counts them as 30 and 365 days. */
const STEP_UNITS: [number, string][] = [
  [31_536_000, "year"],
  [2_592_000, "month"],
  [604_800, "week"],
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
  [1, "second"],
];

/** The length of a histogram's step: `1 second`, `5 minutes`, `1 day`. */
export function step(seconds: number): string {
  const [size, name] = STEP_UNITS.find(([size]) => seconds % size === 0) ?? [1, "second"];
  return plural(seconds / size, name);
}

/** The same after "per": `second`, `5 minutes`, `day`. */
export function perStep(seconds: number): string {
  return step(seconds).replace(/^1 /, "");
}
