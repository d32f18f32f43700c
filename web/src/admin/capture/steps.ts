/** The steps of one request on a line of time. */

import { duration } from "../../format/duration";
import { count, threeDigits } from "../../format/number";
import type { CaptureStep } from "../../generated/CaptureStep";

/** The time that contains all steps, in seconds from the beginning of the request. */
export interface Span {
  from: number;
  length: number;
}

export function spanOf(steps: readonly CaptureStep[]): Span {
  let [from, to] = [0, 0];
  for (const { begun, duration: length } of steps) {
    from = Math.min(from, begun);
    to = Math.max(to, begun + length);
  }
  return { from, length: Math.max(to - from, 1e-9) };
}

/** The place of a step's bar in percent of the width. */
export function barOf(step: CaptureStep, { from, length }: Span): { left: number; width: number } {
  return { left: (100 * (step.begun - from)) / length, width: (100 * step.duration) / length };
}

/** A time of a step, which may be before the beginning. Steps are told apart by microseconds. */
export function stepTime(seconds: number): string {
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${sign}${threeDigits(size * 1e6)} µs`;
  if (size < 1) return `${sign}${(size * 1e3).toFixed(3)} ms`;
  if (size < 60) return `${sign}${size.toFixed(3)} s`;
  return `${sign}${duration(size)}`;
}

export function countText(number: number | undefined): string {
  return number === undefined ? "" : count(number);
}
