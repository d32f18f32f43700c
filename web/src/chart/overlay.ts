/** The histogram of a report, and the blocks and firewall events laid over requests. */

import { perStep } from "../format/duration";
import { firewallEvents, type Noun, overlayNoun } from "../format/kind";
import { count } from "../format/number";
import { capitalized, listed } from "../format/text";
import type { Histogram } from "../generated/Histogram";
import { KIND_WORDS } from "../generated/kindWords";
import type { Report } from "../generated/Report";
import {
  backdropColor,
  backdropEdge,
  groupColors,
  groupEdge,
  isWorst,
  type Theme,
} from "./palette";
import { countOf, type Series, seriesOf } from "./series";

/** A histogram, its series, and the kinds of records in it with their numbers. */
export interface Drawing {
  histogram: Histogram;
  series: Series[];
  kinds: (Noun & { total: number })[];
}

/**
 * Returns the drawing of a report; `null` if it has no histogram. `blocks` is the number of blocks
 * in error logs.
 */
export function drawingOf(report: Report, theme: Theme, blocks = 0): Drawing | null {
  const { histogram, overlay, kind } = report;
  if (!histogram) return null;
  if (overlay && kind === "request") {
    const noun = overlayNoun(firewallEvents(report), blocks);
    return overlaid(report, [histogram, overlay], noun, theme);
  }
  const kinds = [{ ...KIND_WORDS[kind], total: report.matching }];
  return { histogram, series: seriesOf(histogram, theme), kinds };
}

/** What a drawing shows: `Requests per hour`. */
export function titleOf({ histogram, kinds }: Drawing): string {
  const title = `${capitalized(listed(kinds.map(({ many }) => many)))} per ${perStep(histogram.step_s)}`;
  const leftOut = histogram.left_out;
  return leftOut ? `${title}, without ${count(leftOut)} of times before 1990` : title;
}

/** What the lane below the bars is; `null` if it shows the same as these. */
export function laneText(histogram: Histogram, report: Report): string | null {
  return histogram.unfiltered ? `all ${KIND_WORDS[report.kind].many}, to their own scale` : null;
}

/** The requests are one series, below the groups of the events. */
function overlaid(
  report: Report,
  [own, overlay]: [Histogram, Histogram],
  noun: Noun,
  theme: Theme,
): Drawing {
  // The server makes the same buckets for both kinds.
  const buckets = own.buckets.map(({ start, count }, at) => {
    const { count: more, by } = overlay.buckets[at] ?? { count: 0, by: {} };
    return { start, count: count + more, by };
  });
  const colors = groupColors(overlay.field, overlay.groups, theme);
  const { request } = KIND_WORDS;
  const below = {
    name: null,
    label: request.many,
    color: backdropColor(theme),
    edge: backdropEdge(theme),
    isHatched: false,
  };
  const above = overlay.groups.map((name, at) => ({
    name,
    label: name,
    color: colors[at]!,
    edge: groupEdge(overlay.field, name, theme),
    isHatched: isWorst(overlay.field, name),
  }));
  const series = [below, ...above].map((one) => ({
    ...one,
    rank: 0,
    total: buckets.reduce((sum, bucket) => sum + countOf(bucket, one.name), 0),
    isValue: true,
  }));
  const kinds = [
    { ...request, total: report.matching },
    { ...noun, total: totalOf(overlay) },
  ];
  return { histogram: { ...own, ...overlay, buckets }, series, kinds };
}

function totalOf({ buckets }: Histogram): number {
  return buckets.reduce((sum, bucket) => sum + bucket.count, 0);
}
