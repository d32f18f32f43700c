/** What the bars are divided into, with its colours and sums. */

import type { Bucket } from "../generated/Bucket";
import type { Histogram } from "../generated/Histogram";
import { groupColors, statusColor, type Theme } from "./palette";

export interface Series {
  /** A value of the histogram's field; `null` for the records without the field. */
  name: string | null;
  /** What it is called on the page. */
  label: string;
  color: string;
  /** Over all buckets. */
  total: number;
  /** False for what is only the rest, without a value of the field. */
  tellsApart: boolean;
}

/** The series in stacking order, lowest first; those without the field come last. */
export function seriesOf(histogram: Histogram, theme: Theme): Series[] {
  const names: (string | null)[] = [...histogram.groups, null];
  // Bars that are not divided have the colour of what nothing is wrong with.
  const isWhole = !histogram.groups.some((group) => tellsApart(histogram.field, group));
  const colors = isWhole
    ? names.map(() => statusColor("200", theme))
    : groupColors(histogram.field, histogram.groups, theme);
  return names
    .map((name, at) => ({
      name,
      label: labelOf(histogram.field, name),
      color: colors[at] ?? statusColor("", theme),
      total: histogram.buckets.reduce((sum, bucket) => sum + countOf(bucket, name), 0),
      tellsApart: name !== null && tellsApart(histogram.field, name),
    }))
    .filter((series) => series.name !== null || series.total > 0);
}

/** How the server names the records without the field. */
const NO_VALUE = "(none)";

/** What no firewall wrote are the requests. */
function labelOf(field: string, name: string | null): string {
  if (field === "action" && name === NO_VALUE) return "requests";
  return name ?? "none";
}

/** False where no record has the field, so that there is nothing to tell apart. */
export function isDivided(series: Series[]): boolean {
  return series.some((one) => one.tellsApart);
}

/** How the server names the class of records that have no status. */
const NO_CLASS = "other";

function tellsApart(field: string, group: string): boolean {
  return group !== NO_VALUE && !(field === "status_class" && group === NO_CLASS);
}

/** How many of a bucket's records belong to a series. */
export function countOf(bucket: Bucket, name: string | null): number {
  if (name !== null) return bucket.by[name] ?? 0;
  return Object.values(bucket.by).reduce((rest, value) => rest - value, bucket.count);
}
