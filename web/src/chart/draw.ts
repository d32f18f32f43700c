/**
 * Draws a layout with rectangles and texts, which is all that a surface has to support. On a canvas,
 * one long path would be many times slower.
 */

import { compact } from "../format/number";
import type { Column, Layout } from "./layout";
import { countOf, type Series, stacked } from "./series";

/** Colours and fonts of the style sheet at the moment of drawing. */
export interface Ink {
  text: string;
  strong: string;
  grid: string;
  /** The surface behind the chart. */
  ground: string;
  font: string;
}

/** What is drawn on: a canvas, or a picture file. */
export type Surface = Pick<
  CanvasRenderingContext2D,
  | "fillRect"
  | "fillStyle"
  | "fillText"
  | "font"
  | "globalAlpha"
  | "measureText"
  | "textAlign"
  | "textBaseline"
>;

/** The size of the canvas in CSS pixels, and the device pixels per CSS pixel. */
export interface Size {
  width: number;
  height: number;
  ratio: number;
}

/** The height of the line along the top of pale bars, which has the contrast that they lack. */
const EDGE_HEIGHT = 1.5;
/** Parts of a bar are hatched only if they are at least this high: a stripe for each `HATCH_PITCH`. */
const HATCH_HEIGHT_MIN = 5;
const HATCH_PITCH = 4;
/** Parts of a bar have a gap between them only if they are at least this high. */
const GAP_HEIGHT_MIN = 4;
/** Free space after a label of the x axis. */
const LABEL_GAP = 8;

/** Fits the canvas to its size and redraws everything. */
export function draw(
  canvas: HTMLCanvasElement,
  layout: Layout,
  series: Series[],
  ink: Ink,
  size: Size,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { ratio } = size;
  resize(canvas, size);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.width / ratio, canvas.height / ratio);
  drawLayout(context, layout, series, ink, ratio);
}

/** Draws on a surface whose pixels are CSS pixels of `ratio` device pixels each. */
export function drawLayout(
  surface: Surface,
  layout: Layout,
  series: Series[],
  ink: Ink,
  ratio: number,
): void {
  surface.font = ink.font;
  drawGrid(surface, layout, ink, ratio);
  drawLane(surface, layout, ink, ratio);
  drawBars(surface, layout, series, ink, ratio);
  drawTimes(surface, layout, ink, ratio);
}

/** Sets the size of the canvas, which clears it if it has changed. */
export function resize(canvas: HTMLCanvasElement, size: Size): void {
  // Reading the size from the canvas would force a layout of the whole page.
  const width = Math.round(size.width * size.ratio);
  const height = Math.round(size.height * size.ratio);
  // Setting a size clears the canvas, even if it is the same.
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

function drawGrid(surface: Surface, layout: Layout, ink: Ink, ratio: number): void {
  const { plot, counts } = layout;
  surface.textAlign = "right";
  surface.textBaseline = "middle";
  for (const tick of counts.ticks) {
    const y = snap(plot.top + plot.height * (1 - tick / counts.top), ratio);
    surface.fillStyle = ink.grid;
    surface.fillRect(plot.left, y, plot.width, 1 / ratio);
    surface.fillStyle = ink.text;
    surface.fillText(compact(tick), plot.left - 8, y);
  }
}

/** The opacity of the lane, which has the colour of the text. */
const LANE_ALPHA = 0.3;

/** Draws all records below the chart, to a scale of their own, which stands at their left. */
export function drawLane(surface: Surface, layout: Layout, ink: Ink, ratio: number): void {
  const { plot, lane } = layout;
  if (lane === null) return;
  const base = lane.top + lane.height;
  surface.fillStyle = ink.text;
  surface.textAlign = "right";
  surface.textBaseline = "top";
  surface.fillText("all", plot.left - 8, lane.top);
  surface.fillText(compact(lane.max), plot.left - 8, lane.top + lane.height / 2);
  surface.globalAlpha = LANE_ALPHA;
  for (const { x, width, all } of layout.columns) {
    if (all === 0) continue;
    const top = Math.min(base - 1 / ratio, snap(base - lane.height * all, ratio));
    surface.fillRect(plot.left + x, top, width, base - top);
  }
  surface.globalAlpha = 1;
  surface.fillStyle = ink.grid;
  surface.fillRect(plot.left, base - 1 / ratio, plot.width, 1 / ratio);
}

function drawBars(
  surface: Surface,
  layout: Layout,
  series: Series[],
  ink: Ink,
  ratio: number,
): void {
  const below = layout.columns.map(() => 0);
  const tops: Top[] = layout.columns.map(() => null);
  // One colour after the other: changing the fill for each rectangle is slower.
  for (const { name, color, edge, isHatched } of stacked(series)) {
    const hatched: Part[] = [];
    surface.fillStyle = color;
    layout.columns.forEach((column, at) => {
      const value = countOf(column.bucket, name);
      if (value === 0) return;
      const part = drawPart(surface, layout, column, value, below[at]!, ratio);
      if (isHatched && part.height > HATCH_HEIGHT_MIN) hatched.push(part);
      below[at]! += value;
      tops[at] = { y: part.y, edge };
    });
    hatch(surface, layout, hatched, ink.ground);
  }
  drawEdges(surface, layout, tops, ratio);
}

/** The top of a bar, and the colour of the line along it; `null` for an empty bar. */
type Top = { y: number; edge: string | null } | null;

/** Stripes at the same heights in all bars. */
function hatch(surface: Surface, layout: Layout, parts: Part[], color: string): void {
  surface.fillStyle = color;
  const base = layout.plot.top + layout.plot.height;
  for (const { x, y, width, height } of parts) {
    const first = Math.ceil((base - y - height + 1) / HATCH_PITCH) * HATCH_PITCH;
    for (let above = first; base - above > y; above += HATCH_PITCH)
      surface.fillRect(x, base - above, width, 1);
  }
}

/** One line along the tops of bars that end in a pale colour, with a riser between neighbours. */
function drawEdges(surface: Surface, layout: Layout, tops: Top[], ratio: number): void {
  const { plot, columns } = layout;
  tops.forEach((top, at) => {
    const column = columns[at]!;
    if (top === null || top.edge === null) return;
    surface.fillStyle = top.edge;
    const left = plot.left + column.x;
    surface.fillRect(left, top.y, column.width, EDGE_HEIGHT);
    const before = tops[at - 1];
    if (!before || before.edge === null || column.width < 2) return;
    const end = plot.left + columns[at - 1]!.x + columns[at - 1]!.width;
    // Narrow bars that stand apart, as those of a single minute, have no riser.
    if (left - end > 1 + 1 / ratio) return;
    const [high, low] = [Math.min(top.y, before.y), Math.max(top.y, before.y)];
    surface.fillRect(end, high, Math.max(1 / ratio, left - end), low - high + EDGE_HEIGHT);
  });
}

/** The rectangle of a part of a bar. */
interface Part {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Draws `value` records of a bar above the `below` records already drawn. */
function drawPart(
  surface: Surface,
  layout: Layout,
  column: Column,
  value: number,
  below: number,
  ratio: number,
): Part {
  const { plot, counts } = layout;
  const scale = plot.height / counts.top;
  const bottom = snap(plot.top + plot.height - below * scale, ratio);
  // Every part is visible: at least one device pixel.
  const top = Math.min(
    bottom - 1 / ratio,
    snap(plot.top + plot.height - (below + value) * scale, ratio),
  );
  const gap = below > 0 && bottom - top >= GAP_HEIGHT_MIN && column.width >= 2 ? 1 / ratio : 0;
  const part = {
    x: plot.left + column.x,
    y: top,
    width: column.width,
    height: bottom - top - gap,
  };
  surface.fillRect(part.x, part.y, part.width, part.height);
  return part;
}

/** Draws the labels of the x axis. */
export function drawTimes(surface: Surface, layout: Layout, ink: Ink, ratio: number): void {
  const { plot, pitch, xTicks } = layout;
  const bottom = plot.top + plot.height;
  surface.textBaseline = "top";
  let free = 0;
  for (const tick of xTicks) {
    const x = snap(plot.left + tick.bucket * pitch, ratio);
    surface.fillStyle = tick.strong ? ink.strong : ink.text;
    surface.fillRect(x, bottom, 1 / ratio, tick.strong ? 6 : 4);
    const width = surface.measureText(tick.text).width;
    const left = Math.max(
      0,
      Math.min(x - (tick.bucket === 0 ? 0 : width / 2), plot.left + plot.width - width),
    );
    if (left < free) continue;
    surface.textAlign = "left";
    surface.fillText(tick.text, left, bottom + 8);
    free = left + width + LABEL_GAP;
  }
}

/** The nearest edge of a device pixel. */
export function snap(value: number, ratio: number): number {
  return Math.round(value * ratio) / ratio;
}
