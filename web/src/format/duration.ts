import { trimmed } from "./number";

/** A time that a request took, from seconds: `0 ms`, `340 µs`, `12 ms`, `1.25 s`, `2 min 5 s`. */
export function latency(seconds: number): string {
  if (seconds === 0) return "0 ms";
  if (seconds < 0.001) return `${trimmed(seconds * 1e6, 0)} µs`;
  if (seconds < 0.9995) return `${trimmed(seconds * 1000, seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 60) return `${trimmed(seconds, 2)} s`;
  return span(seconds);
}

const SPANS: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** A length of time in its two largest units: `3 d 4 h`, `5 min`, `1 s`. */
export function span(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole === 0) return "0 s";
  const first = SPANS.findIndex(([size]) => whole >= size);
  const parts: string[] = [];
  let rest = whole;
  for (const [size, unit] of SPANS.slice(first, first + 2)) {
    const times = Math.floor(rest / size);
    rest -= times * size;
    if (times > 0) parts.push(`${times} ${unit}`);
  }
  return parts.join(" ");
}

/** The length of a histogram's bucket: `1 s`, `5 min`, `1 day`, `1 month`. */
export function step(seconds: number): string {
  const days = seconds / 86_400;
  if (days >= 365) return unit(Math.round(days / 365), "year");
  if (days >= 28) return unit(Math.round(days / 30.4), "month");
  if (days >= 7 && days % 7 === 0) return unit(days / 7, "week");
  if (days >= 1) return unit(days, "day");
  return span(seconds);
}

function unit(times: number, name: string): string {
  return `${trimmed(times, 1)} ${name}${times === 1 ? "" : "s"}`;
}
