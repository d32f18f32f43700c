/** The parts of stacked bars, with their colours and sums. */

import { ownValue } from "../format/ownValue";
import type { Bucket } from "../generated/Bucket";
import type { Histogram } from "../generated/Histogram";
import { NO_STATUS_CLASS, NO_VALUE, STATUS_CLASS } from "../generated/words";
import { groupColors, groupEdge, isWorst, stackRank, statusColor, type Theme } from "./palette";

/** Maximum number of legend entries. */
export const LEGEND_SHOWN = 10;

export interface Series {
  /** A value of the histogram's field; `null` for the records without the field. */
  name: string | null;
  /** Its name on the page. */
  label: string;
  color: string;
  /** The line along the top of its area, if the colour is pale. */
  edge: string | null;
  /** Its place in the stack: the lowest stands on the baseline. */
  rank: number;
  /** Whether its area is hatched, which is a second mark of the worst. */
  isHatched: boolean;
  /** The sum over all buckets. */
  total: number;
  /** Whether it is a value of the field, instead of the records without one. */
  isValue: boolean;
}

/** Returns the series in the order of the groups; records without the field come last. */
export function seriesOf(histogram: Histogram, theme: Theme): Series[] {
  const names: (string | null)[] = [...histogram.groups, null];
  // Bars that are not stacked have the colour of success.
  const isPlain = !histogram.groups.some((group) => isValue(histogram.field, group));
  const colors = isPlain
    ? names.map(() => statusColor("200", theme))
    : groupColors(histogram.field, histogram.groups, theme);
  return names
    .map((name, at) => ({
      name,
      label: name ?? "none",
      color: colors[at] ?? statusColor("", theme),
      edge: isPlain
        ? groupEdge(STATUS_CLASS, "2xx", theme)
        : groupEdge(histogram.field, name ?? "", theme),
      rank: stackRank(histogram.field, name ?? ""),
      isHatched: name !== null && isWorst(histogram.field, name),
      total: histogram.buckets.reduce((sum, bucket) => sum + countOf(bucket, name), 0),
      isValue: name !== null && isValue(histogram.field, name),
    }))
    .filter((series) => series.name !== null || series.total > 0);
}

/** The series in stacking order, from the baseline up. */
export function stacked(series: Series[]): Series[] {
  return [...series].sort((a, b) => a.rank - b.rank);
}

/** Whether the bars are stacked, which needs a record with the field. */
export function isStacked(series: Series[]): boolean {
  return series.some((one) => one.isValue);
}

function isValue(field: string, group: string): boolean {
  return group !== NO_VALUE && !(field === STATUS_CLASS && group === NO_STATUS_CLASS);
}

/** Returns the number of a bucket's records in a series. */
export function countOf(bucket: Bucket, name: string | null): number {
  if (name !== null) return ownValue(bucket.by, name) ?? 0;
  return Object.values(bucket.by).reduce((rest, value) => rest - value, bucket.count);
}
