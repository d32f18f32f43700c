/**
 * The chart as a picture for a report: with a title, the filter, the period and a legend. It is light
 * in both themes, because most pages that it is pasted into are.
 */

import { drawLayout, type Ink, type Surface } from "../chart/draw";
import { layoutOf } from "../chart/layout";
import { type Drawing, laneText, titleOf } from "../chart/overlay";
import { isStacked, LEGEND_SHOWN } from "../chart/series";
import { count, plural } from "../format/number";
import { visible } from "../format/text";
import { rangeText } from "../format/time";
import type { Report } from "../generated/Report";
import type { Source } from "../generated/Source";
import { chipsOf } from "../state/chips";
import type { Question } from "../state/state";

/** The width of a picture, in CSS pixels. */
export const WIDTH = 960;

/** Pixels of a PNG image for each CSS pixel: sharp in print and on dense screens. */
export const RATIO = 2;

const CHART_HEIGHT = 374;
const EDGE = 20;
const LINE_HEIGHT = 19;
const FAMILY = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
const FONTS = {
  title: `600 17px ${FAMILY}`,
  text: `13px ${FAMILY}`,
  axis: `12px ${FAMILY}`,
};
/** The colours of the light theme. */
const COLORS = { ground: "#ffffff", strong: "#14202b", text: "#5f6c79", grid: "#e3e8ed" };
const SWATCH = 10;
/** The height of the line along the top of a pale swatch. */
const SWATCH_EDGE = 2;
/** The opacity of the lane of all records in the legend. */
const LANE_ALPHA = 0.3;

/** The text of a picture beside its bars. */
export interface Caption {
  title: string;
  /** The sources, the filter and the period, a line each. */
  lines: string[];
}

/** The caption of a drawing. */
export function captionOf(
  drawing: Drawing,
  sources: readonly Pick<Source, "name">[],
  question: Question,
): Caption {
  const { histogram, kinds } = drawing;
  const [first] = sources;
  const name = first?.name.split("/").at(-1) || "standard input";
  const source = sources.length > 1 ? `${name} and ${plural(sources.length - 1, "other")}` : name;
  const sums = kinds.map(({ one, many, total }) => plural(total, one, many)).join(", ");
  const filter = chipsOf(question)
    .map(({ label, sign, values }) => `${label} ${sign} ${values.join(", ")}`.trim())
    .join("; ");
  const period = rangeText(histogram.buckets[0]!.start, histogram.until);
  return {
    title: `${titleOf(drawing)}, ${period}`,
    lines: [`${source}: ${sums}`, ...(filter === "" ? [] : [`Filter: ${filter}`])].map(visible),
  };
}

/** Draws the picture and returns its height in CSS pixels; a first call on any surface measures it. */
export function drawPicture(
  surface: Surface,
  drawing: Drawing,
  caption: Caption,
  report: Report,
  height: number,
): number {
  surface.fillStyle = COLORS.ground;
  surface.fillRect(0, 0, WIDTH, height);
  let top = drawCaption(surface, caption);
  top = drawLegend(surface, drawing, report, top);
  const layout = layoutOf(drawing.histogram, WIDTH - EDGE, CHART_HEIGHT, RATIO);
  const plot = { ...layout.plot, top: layout.plot.top + top };
  const ink: Ink = { ...COLORS, font: FONTS.axis };
  const lane = layout.lane && { ...layout.lane, top: layout.lane.top + top };
  drawLayout(surface, { ...layout, plot, lane }, drawing.series, ink, RATIO);
  return top + CHART_HEIGHT + EDGE / 2;
}

function drawCaption(surface: Surface, { title, lines }: Caption): number {
  Object.assign(surface, { textAlign: "left", textBaseline: "alphabetic" });
  surface.fillStyle = COLORS.strong;
  surface.font = FONTS.title;
  let top = EDGE + LINE_HEIGHT;
  surface.fillText(fitted(surface, title), EDGE, top);
  surface.fillStyle = COLORS.text;
  surface.font = FONTS.text;
  for (const line of lines) {
    top += LINE_HEIGHT + 3;
    surface.fillText(fitted(surface, line), EDGE, top);
  }
  return top + LINE_HEIGHT / 2;
}

/** An entry of the legend. */
interface Entry {
  label: string;
  color: string | null;
  /** The line along the top of a pale colour. */
  edge: string | null;
  alpha: number;
}

function drawLegend(surface: Surface, drawing: Drawing, report: Report, from: number): number {
  const entries = entriesOf(drawing, report);
  if (entries.length === 0) return from;
  surface.font = FONTS.text;
  let [left, top] = [EDGE, from + LINE_HEIGHT];
  for (const { label, color, edge, alpha } of entries) {
    const text = fitted(surface, label, WIDTH / 3);
    const indent = color === null ? 0 : SWATCH + 6;
    const width = indent + surface.measureText(text).width;
    if (left > EDGE && left + width > WIDTH - EDGE) [left, top] = [EDGE, top + LINE_HEIGHT];
    if (color !== null) {
      surface.globalAlpha = alpha;
      surface.fillStyle = color;
      surface.fillRect(left, top - SWATCH, SWATCH, SWATCH);
      surface.globalAlpha = 1;
    }
    if (edge !== null) {
      surface.fillStyle = edge;
      surface.fillRect(left, top - SWATCH, SWATCH, SWATCH_EDGE);
    }
    surface.fillStyle = COLORS.text;
    surface.fillText(text, left + indent, top);
    left += width + EDGE;
  }
  return top + LINE_HEIGHT / 2;
}

function entriesOf({ histogram, series }: Drawing, report: Report): Entry[] {
  const shown = isStacked(series) ? series : [];
  const entries: Entry[] = shown.slice(0, LEGEND_SHOWN).map(({ label, color, edge, total }) => ({
    label: `${visible(label)}: ${count(total)}`,
    color,
    edge,
    alpha: 1,
  }));
  const rest = shown.length - LEGEND_SHOWN;
  if (rest > 0) entries.push({ label: `and ${rest} more`, color: null, edge: null, alpha: 1 });
  const lane = laneText(histogram, report);
  if (lane !== null)
    entries.push({ label: lane, color: COLORS.text, edge: null, alpha: LANE_ALPHA });
  return entries;
}

/** The text, cut so that it fits the width in the font of the surface. */
function fitted(surface: Surface, text: string, width = WIDTH - 2 * EDGE): string {
  if (surface.measureText(text).width <= width) return text;
  const characters = [...text];
  let [fits, tooLong] = [0, characters.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    const cut = `${characters.slice(0, middle).join("")}…`;
    if (surface.measureText(cut).width <= width) fits = middle;
    else tooLong = middle;
  }
  return `${characters.slice(0, fits).join("")}…`;
}
