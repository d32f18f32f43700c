/** Draws a map of durations: cells, and over them the lines of the median and the 95th percentile. */

import { drawLane, drawTimes, type Ink, resize, type Size, snap } from "../chart/draw";
import { heatColors, type Theme } from "../chart/palette";
import { shortDuration } from "../format/duration";
import { densityOf, type HeatColumn, type HeatLayout } from "./layout";
import type { Heat, HeatSpan } from "./map";

/** The lines over the cells. */
export const P95 = { width: 2, dash: [] };
export const MEDIAN = { width: 1.5, dash: [4, 3] };
/** How far the surface shows on both sides of a line, so that it stands out from the cells. */
const HALO = 1.25;
const HALO_ALPHA = 0.75;

/** Fits the canvas to its size and redraws everything. */
export function drawHeat(
  canvas: HTMLCanvasElement,
  layout: HeatLayout,
  heat: Heat,
  ink: Ink,
  theme: Theme,
  size: Size,
): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { ratio } = size;
  resize(canvas, size);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.width / ratio, canvas.height / ratio);
  context.font = ink.font;
  drawCells(context, layout, heat, theme);
  drawGrid(context, layout, ink, ratio);
  drawLine(context, layout, heat, (span) => span.median, MEDIAN, ink);
  drawLine(context, layout, heat, (span) => span.p95, P95, ink);
  drawLane(context, layout.frame, ink, ratio);
  drawTimes(context, layout.frame, ink, ratio);
}

/** The colour of a cell among `colors`: one record is visible, and each further colour is a factor. */
export function levelOf(density: number, most: number, colors: number): number {
  const share = Math.log1p(density) / Math.log1p(Math.max(most, density));
  return Math.min(colors - 1, Math.floor(share * colors));
}

function drawCells(
  context: CanvasRenderingContext2D,
  layout: HeatLayout,
  heat: Heat,
  theme: Theme,
): void {
  const colors = heatColors(theme);
  const levels: [HeatColumn, number][][] = colors.map(() => []);
  for (const column of layout.columns) {
    for (let step = 0; step < layout.steps.length; step += 1) {
      const density = densityOf(heat, column, step, layout.steps);
      if (density > 0) levels[levelOf(density, layout.most, colors.length)]!.push([column, step]);
    }
  }
  // One colour after the other: changing the fill for each rectangle is slower.
  levels.forEach((cells, level) => {
    context.fillStyle = colors[level]!;
    for (const [{ x, width }, step] of cells) {
      const { top, height } = layout.steps[step]!;
      context.fillRect(x, top, width, height);
    }
  });
}

function drawGrid(
  context: CanvasRenderingContext2D,
  { frame, ticks }: HeatLayout,
  ink: Ink,
  ratio: number,
): void {
  const { plot } = frame;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { y, seconds } of ticks) {
    context.fillStyle = ink.grid;
    context.fillRect(plot.left, snap(y, ratio), plot.width, 1 / ratio);
    context.fillStyle = ink.text;
    context.fillText(shortDuration(seconds), plot.left - 8, y);
  }
  context.fillStyle = ink.grid;
  context.fillRect(plot.left, plot.top + plot.height, plot.width, 1 / ratio);
}

/** The points of a line in each unbroken part of it: spans without the duration break it. */
function partsOf(
  { columns, yOf }: HeatLayout,
  heat: Heat,
  quantileOf: (span: HeatSpan) => number | null,
): [number, number][][] {
  const parts: [number, number][][] = [];
  let part: [number, number][] = [];
  const end = ({ x, width }: HeatColumn, y: number) => part.push([x + width, y]);
  let before: { column: HeatColumn; y: number } | null = null;
  for (const column of columns) {
    const values = heat.spans.slice(column.from, column.to).map(quantileOf);
    const known = values.filter((value) => value !== null);
    if (known.length === 0) {
      if (before) end(before.column, before.y);
      part = [];
      before = null;
      continue;
    }
    const y = yOf(Math.max(...known));
    if (before === null) {
      parts.push(part);
      part.push([column.x, y]);
    }
    part.push([column.x + column.width / 2, y]);
    before = { column, y };
  }
  if (before) end(before.column, before.y);
  return parts;
}

function drawLine(
  context: CanvasRenderingContext2D,
  layout: HeatLayout,
  heat: Heat,
  quantileOf: (span: HeatSpan) => number | null,
  { width, dash }: { width: number; dash: number[] },
  ink: Ink,
): void {
  context.beginPath();
  for (const part of partsOf(layout, heat, quantileOf)) {
    part.forEach(([x, y], at) => {
      if (at === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    });
  }
  context.lineJoin = "round";
  context.globalAlpha = HALO_ALPHA;
  context.strokeStyle = ink.ground;
  context.lineWidth = width + 2 * HALO;
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = ink.strong;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.stroke();
  context.setLineDash([]);
}
