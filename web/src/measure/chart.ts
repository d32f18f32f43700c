/** The chart of a measure: the histogram of a report with other numbers. */

import type { Drawing } from "../chart/overlay";
import type { Theme } from "../chart/palette";
import { seriesOf } from "../chart/series";
import type { Noun } from "../format/kind";
import { ownValue } from "../format/ownValue";
import { instantSeconds, parseStamp } from "../format/time";
import type { Histogram } from "../generated/Histogram";
import type { Report } from "../generated/Report";
import { STATUS_CLASS } from "../generated/words";
import type { Measure } from "../state/measure";
import type { SeriesSlice } from "../state/series";
import { numberOf } from "./measures";

/** The classes of statuses that are errors. */
const ERRORS = ["4xx", "5xx"];

/** The measures that are drawn as bars. A percentile is a line over a map. */
type BarMeasure = Exclude<Measure, "requests" | "time">;

/** Whether a measure is drawn as bars other than those of the report. */
export function isOfBars(measure: Measure): measure is BarMeasure {
  return measure === "errors" || measure === "bytes";
}

const NOUNS: Record<BarMeasure, Noun> = {
  errors: { one: "error", many: "errors" },
  bytes: { one: "byte", many: "bytes" },
};

/** The bounds of the bars, in seconds since 1970. */
export function boundsOf({ buckets, until }: Histogram): number[] {
  const stamps = [...buckets.map(({ start }) => start), until].map(parseStamp);
  return stamps.flatMap((stamp) => (stamp ? [Math.floor(instantSeconds(stamp))] : []));
}

/** Whether the chart of a measure needs numbers that no report has. */
export function needsSeries(measure: Measure, { histogram }: Report): boolean {
  if (measure === "requests" || !histogram) return false;
  return measure !== "errors" || histogram.field !== STATUS_CLASS;
}

/** The drawing of a measure other than the number of records; `null` while it is not known. */
export function measureDrawing(
  measure: BarMeasure,
  report: Report,
  { answer }: SeriesSlice,
  theme: Theme,
): Drawing | null {
  const { histogram } = report;
  if (!histogram) return null;
  if (!needsSeries(measure, report)) return drawing(errorsOf(histogram), measure, theme);
  if (answer === null) return null;
  const spans = new Map(answer.bounds.map((bound, at) => [bound, answer.series.spans[at]]));
  const bounds = boundsOf(histogram);
  const buckets = histogram.buckets.map(({ start }, at) => {
    const span = spans.get(bounds[at]!);
    return { start, count: span ? (numberOf(span, measure) ?? 0) : 0, by: {} };
  });
  return drawing(withBuckets(histogram, [], buckets), measure, theme);
}

/** The bars of the statuses that are errors. */
function errorsOf(histogram: Histogram): Histogram {
  const groups = histogram.groups.filter((group) => ERRORS.includes(group));
  const buckets = histogram.buckets.map(({ start, by }) => {
    const own = groups.map((group) => [group, ownValue(by, group) ?? 0] as const);
    const count = own.reduce((sum, [, value]) => sum + value, 0);
    return { start, count, by: Object.fromEntries(own) };
  });
  return withBuckets(histogram, groups, buckets);
}

/** The lane stays that of all records. */
function withBuckets(
  histogram: Histogram,
  groups: string[],
  buckets: Histogram["buckets"],
): Histogram {
  const unfiltered = histogram.unfiltered ?? histogram.buckets.map(({ count }) => count);
  return { ...histogram, groups, buckets, unfiltered };
}

function drawing(histogram: Histogram, measure: BarMeasure, theme: Theme): Drawing {
  const total = histogram.buckets.reduce((sum, { count }) => sum + count, 0);
  return { histogram, series: seriesOf(histogram, theme), kinds: [{ ...NOUNS[measure], total }] };
}
