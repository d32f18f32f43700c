/** Turns a histogram into rectangles: the part of the chart that needs no canvas. */

import type { Bucket } from "../generated/Bucket";
import type { Histogram } from "../generated/Histogram";
import { type TimeTick, timeTicks } from "./calendar";
import { type CountScale, countScale } from "./ticks";

/** Space around the bars for the labels, in CSS pixels. */
export const MARGIN = { left: 52, right: 12, top: 10, bottom: 24 };
/** The height of the lane of all records with the space above it, and of its bars. */
export const LANE_SPACE = 34;
const LANE_HEIGHT = 26;
/** A chart that is lower than this is a strip, which has no lane. */
const LANE_FROM = 160;
/** Minimum width of a label of the x axis, in CSS pixels. */
const TICK_WIDTH = 96;
/** Minimum distance of two grid lines, in CSS pixels. */
const TICK_HEIGHT = 44;
/** Maximum width of a bar, so that a single bucket does not fill the chart. */
const BAR_WIDTH_MAX = 64;

/** One bar: one bucket, or several that share a column of pixels. */
export interface Column {
  /** Edges within the plot, in CSS pixels. */
  x: number;
  width: number;
  /** The bucket that the column shows: the fullest of those it covers. */
  bucket: Bucket;
  /** All records in that time, filtered or not, divided by the largest such count: 0 to 1. */
  all: number;
}

/** A strip below the chart with all records, filtered or not, to a scale of its own. */
export interface Lane {
  top: number;
  height: number;
  /** The largest count, to which the strip is as high as it can be. */
  max: number;
}

export interface Layout {
  plot: { left: number; top: number; width: number; height: number };
  /** `null` in a chart without room for it. */
  lane: Lane | null;
  columns: Column[];
  /** Number of buckets along the x axis. */
  count: number;
  /** Width of a bucket along the x axis. */
  pitch: number;
  /** The count of the fullest bucket. */
  max: number;
  counts: CountScale;
  xTicks: TimeTick[];
  /** Whether a column covers more than one bucket. */
  merged: boolean;
}

/** Lays out a histogram on `width` by `height` CSS pixels of `ratio` device pixels each. */
export function layoutOf(
  histogram: Histogram,
  width: number,
  height: number,
  ratio: number,
): Layout {
  const hasLane = height >= LANE_FROM;
  const plot = {
    left: MARGIN.left,
    top: MARGIN.top,
    width: Math.max(1, width - MARGIN.left - MARGIN.right),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom - (hasLane ? LANE_SPACE : 0)),
  };
  const { buckets } = histogram;
  // Without a filter, the records of the chart are all there are.
  const counts = histogram.unfiltered ?? buckets.map(({ count }) => count);
  const most = Math.max(1, ...counts);
  const shares = counts.map((count) => count / most);
  const max = buckets.reduce((most, bucket) => Math.max(most, bucket.count), 0);
  const merged = buckets.length > plot.width * ratio;
  const pitch = buckets.length === 0 ? plot.width : plot.width / buckets.length;
  return {
    plot,
    lane: hasLane ? { top: height - LANE_HEIGHT, height: LANE_HEIGHT, max: most } : null,
    columns: merged
      ? mergedColumns(buckets, shares, plot.width, ratio)
      : plainColumns(buckets, shares, pitch, ratio),
    count: buckets.length,
    pitch,
    max,
    counts: countScale(max, plot.height / TICK_HEIGHT),
    xTicks: timeTicks(
      buckets.map((bucket) => bucket.start),
      Math.floor(plot.width / TICK_WIDTH),
    ),
    merged,
  };
}

/** Returns the bucket nearest to `x` CSS pixels from the chart's left edge. */
export function bucketAt(layout: Layout, x: number): number {
  const at = Math.floor((x - layout.plot.left) / layout.pitch);
  return Math.min(Math.max(at, 0), layout.count - 1);
}

/** Returns the position of the buckets `from` to `to`, both included, from the chart's left edge. */
export function extent(layout: Layout, from: number, to: number): { left: number; width: number } {
  return { left: layout.plot.left + from * layout.pitch, width: (to - from + 1) * layout.pitch };
}

/** One bar per bucket, with its edges on device pixels so that all gaps look alike. */
function plainColumns(buckets: Bucket[], shares: number[], pitch: number, ratio: number): Column[] {
  const snap = (x: number) => Math.round(x * ratio) / ratio;
  const gap = pitch >= 3 ? 1 : 0;
  return buckets.map((bucket, at) => {
    const left = snap(at * pitch);
    const room = Math.max(1 / ratio, snap((at + 1) * pitch) - left - gap);
    const width = Math.min(room, BAR_WIDTH_MAX);
    return { x: left + snap((room - width) / 2), width, bucket, all: shares[at] ?? 0 };
  });
}

/**
 * One bar per device pixel. A column shows the fullest of its buckets, so that a burst in a single
 * bucket keeps its height. A sum would depend on the number of buckets that share a pixel.
 */
function mergedColumns(
  buckets: Bucket[],
  shares: number[],
  width: number,
  ratio: number,
): Column[] {
  const pixels = Math.max(1, Math.floor(width * ratio));
  const columns: Column[] = [];
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    const from = Math.floor((pixel * buckets.length) / pixels);
    const to = Math.max(from + 1, Math.floor(((pixel + 1) * buckets.length) / pixels));
    let fullest = buckets[from]!;
    for (let at = from + 1; at < to; at += 1) {
      if (buckets[at]!.count > fullest.count) fullest = buckets[at]!;
    }
    const all = Math.max(0, ...shares.slice(from, to));
    columns.push({ x: pixel / ratio, width: 1 / ratio, bucket: fullest, all });
  }
  return columns;
}
