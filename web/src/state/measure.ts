/** The measure: what is counted in the chart and in every list. */

import { DURATION_TITLES } from "../generated/words";

/** The measures, in the order of their figures. */
export const MEASURES = ["requests", "errors", "bytes", "time"] as const;

/** The number of records, of those with an error, their bytes, or the 95th percentile of a duration. */
export type Measure = (typeof MEASURES)[number];

/** A field with a duration. */
export type Duration = keyof typeof DURATION_TITLES;

/** The duration of a name. */
export function durationNamed(name: string | null): Duration | null {
  const fields = Object.keys(DURATION_TITLES) as Duration[];
  return fields.find((field) => field === name) ?? null;
}

/** The measure of a name; the number of records if there is none. */
export function measureNamed(name: string | null): Measure {
  return MEASURES.find((measure) => measure === name) ?? "requests";
}
