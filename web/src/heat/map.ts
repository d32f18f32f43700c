/** How many records took how long when: the numbers behind the map of a duration. */

import { shortDuration } from "../format/duration";
import type { Histogram } from "../generated/Histogram";
import { medianOf, percentileOf } from "../measure/measures";
import type { Duration } from "../state/measure";
import type { SeriesSlice } from "../state/series";

/** A span of time in the map. */
export interface HeatSpan {
  /** When it begins, as a time stamp. */
  start: string;
  /** The records of each step of the duration, from the shortest. */
  counts: readonly number[];
  /** Their sum: the records that have the duration. */
  total: number;
  /** In seconds; `null` if no record has the duration. */
  median: number | null;
  p95: number | null;
}

export interface Heat {
  field: Duration;
  /** The bars of the same spans, of which the map has the times and the lane. */
  histogram: Histogram;
  /** The bounds of the steps in seconds, ascending: one more than there are steps. */
  bounds: readonly number[];
  spans: readonly HeatSpan[];
}

/** The map in an answer; `null` if the answer has none. */
export function heatOf({ series, histogram, duration }: Answer): Heat | null {
  const { map, spans } = series;
  if (map === undefined || histogram === null || duration === null) return null;
  const numberOf = (at: number, name: string) => {
    const value = spans[at]?.measures?.[name];
    return typeof value === "number" ? value : null;
  };
  return {
    field: duration,
    histogram,
    bounds: map.bounds_s,
    spans: histogram.buckets.map(({ start }, at) => {
      const counts = map.counts[at] ?? [];
      return {
        start,
        counts,
        total: sumOf(counts),
        median: numberOf(at, medianOf(duration)),
        p95: numberOf(at, percentileOf(duration)),
      };
    }),
  };
}

/** The bound of a last step that has none: the largest duration that a record can have, in seconds. */
const ENDLESS_S = 2 ** 64 / 1e9;

/** The durations of the steps from one to another: `500 ms to below 560 ms`. */
export function stepsText({ bounds }: Heat, first: number, last: number): string {
  const [least = 0, most = 0] = [bounds[first], bounds[last + 1]];
  const from = shortDuration(least);
  return most < ENDLESS_S ? `${from} to below ${shortDuration(most)}` : `${from} and more`;
}

export type Answer = NonNullable<SeriesSlice["answer"]>;

/** When a span ends, as a time stamp. */
export function endOf({ histogram, spans }: Heat, span: number): string {
  return spans[span + 1]?.start ?? histogram.until;
}

export function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
