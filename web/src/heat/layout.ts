/** Places the steps of a duration on a logarithmic axis: the part of the map that needs no canvas. */

import { type Layout, layoutOf } from "../chart/layout";
import type { Heat } from "./map";

/** Minimum distance of two grid lines, in CSS pixels. */
const TICK_HEIGHT = 26;
/** How many times longer the longest duration of the axis is than the shortest, at least. */
const RATIO_MIN = 10;
/** Columns from this width on have a gap between them. */
const GAP_FROM = 4;

/** A step of the duration. */
export interface HeatStep {
  /** In CSS pixels from the top of the chart. */
  top: number;
  height: number;
  /** Its height compared with the lowest step: counts are shown for the same height. */
  weight: number;
}

/** A column of the map: a span of time, or several that share a column of pixels. */
export interface HeatColumn {
  x: number;
  width: number;
  /** The spans from the first to the one after the last. */
  from: number;
  to: number;
}

export interface HeatLayout {
  /** The place, the lane and the times: those of the bars. */
  frame: Layout;
  columns: HeatColumn[];
  /** From the shortest duration. */
  steps: HeatStep[];
  /** The largest count of a cell of the height of the lowest step. */
  most: number;
  ticks: { y: number; seconds: number }[];
  /** Returns the place of a duration. */
  yOf: (seconds: number) => number;
}

/** Lays out a map on `width` by `height` CSS pixels of `ratio` device pixels each. */
export function heatLayoutOf(heat: Heat, width: number, height: number, ratio: number): HeatLayout {
  const frame = layoutOf(heat.histogram, width, height, ratio);
  const { top, height: room } = frame.plot;
  const edges = edgesOf(heat.bounds);
  const [least, most] = rangeOf(edges);
  const scale = room / Math.log(most / least);
  const place = (seconds: number) => top + room - scale * Math.log(seconds / least);
  const snapped = edges.map((edge) => Math.round(place(edge) * ratio) / ratio);
  const lowest = Math.min(...edges.slice(1).map((edge, at) => Math.log(edge / edges[at]!)));
  const steps = snapped.slice(1).map((above, at) => ({
    top: above,
    height: snapped[at]! - above,
    weight: Math.log(edges[at + 1]! / edges[at]!) / lowest,
  }));
  const columns = columnsOf(frame, ratio);
  return {
    frame,
    columns,
    steps,
    most: columns.reduce(
      (most, column) =>
        steps.reduce((most, _, step) => Math.max(most, densityOf(heat, column, step, steps)), most),
      0,
    ),
    // Below the first bound are those of no length, which the axis has no place for.
    ticks: ticksOf(heat.bounds[0] === 0 ? edges[1]! : least, most, room / TICK_HEIGHT).map(
      (seconds) => ({
        seconds,
        y: place(seconds),
      }),
    ),
    yOf: (seconds) => Math.min(top + room, Math.max(top, place(Math.max(seconds, least)))),
  };
}

/** The records of a cell for the height of the lowest step; the mean of the spans of the column. */
export function densityOf(
  heat: Heat,
  { from, to }: HeatColumn,
  step: number,
  steps: readonly HeatStep[],
): number {
  let sum = 0;
  for (let at = from; at < to; at += 1) sum += heat.spans[at]?.counts[step] ?? 0;
  return sum / (to - from) / (steps[step]?.weight ?? 1);
}

/** Returns the step at `y` CSS pixels from the top of the chart. */
export function stepAt({ steps }: HeatLayout, y: number): number {
  const found = steps.findIndex(({ top }) => y >= top);
  return found < 0 ? steps.length - 1 : found;
}

/** The bounds as a logarithmic axis can show them: it has no zero, and it ends somewhere. */
function edgesOf(bounds: readonly number[]): number[] {
  const edges = [...bounds];
  const regular = edges.length > 3 ? edges[2]! / edges[1]! : 2;
  if (edges[0] === 0) edges[0] = edges[1]! / regular;
  const [before = 1, last = 1] = edges.slice(-2);
  // The last step of the scale holds everything above it.
  if (last / before > 1_000) edges[edges.length - 1] = before * regular;
  return edges;
}

/** The ends of the axis. */
function rangeOf(edges: readonly number[]): [number, number] {
  const [first, last] = [edges[0] ?? 0.1, edges.at(-1) ?? 1];
  const spare = Math.sqrt(Math.max(1, RATIO_MIN / (last / first)));
  return [first / spare, last * spare];
}

/** Round durations between two: powers of ten, with their halves and fifths if there is room. */
function ticksOf(least: number, most: number, wanted: number): number[] {
  const first = Math.floor(Math.log10(least));
  const last = Math.ceil(Math.log10(most));
  for (const factors of [[1, 2, 5], [1]]) {
    const powers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const all = powers.flatMap((power) => factors.map((factor) => rounded(factor, power)));
    const ticks = all.filter((seconds) => seconds >= least && seconds <= most);
    if (ticks.length <= wanted || factors.length === 1) return ticks;
  }
  return [];
}

/** A number as near to a decimal as it can be. */
function rounded(factor: number, power: number): number {
  return Number(`${factor}e${power}`);
}

/** One column for each span, or for each device pixel if there are more spans. */
function columnsOf(frame: Layout, ratio: number): HeatColumn[] {
  const { plot, count, pitch } = frame;
  const pixels = Math.max(1, Math.floor(plot.width * ratio));
  const columns = Math.min(count, pixels);
  const gap = pitch >= GAP_FROM ? 1 / ratio : 0;
  const edge = (column: number) => Math.round((column / columns) * plot.width * ratio) / ratio;
  return Array.from({ length: columns }, (_, at) => {
    const from = Math.floor((at * count) / columns);
    return {
      x: plot.left + edge(at),
      width: Math.max(1 / ratio, edge(at + 1) - edge(at) - gap),
      from,
      to: Math.max(from + 1, Math.floor(((at + 1) * count) / columns)),
    };
  });
}
