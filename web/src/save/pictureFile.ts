/** The picture of a chart as a file. */

import type { Drawing } from "../chart/overlay";
import type { Report } from "../generated/Report";
import { type Caption, drawPicture, RATIO, WIDTH } from "./picture";
import { SvgSurface } from "./svg";

/** A chart and what is stated beside it. */
export interface Picture {
  drawing: Drawing;
  caption: Caption;
  report: Report;
}

/** The picture as PNG; `null` if the browser cannot draw it. */
export async function pngOf({ drawing, caption, report }: Picture): Promise<Blob | null> {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  if (!context) return null;
  const height = Math.ceil(drawPicture(context, drawing, caption, report, 0));
  canvas.width = WIDTH * RATIO;
  canvas.height = height * RATIO;
  context.scale(RATIO, RATIO);
  drawPicture(context, drawing, caption, report, height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The picture as SVG, whose text stays text; `null` if the browser cannot measure texts. */
export function svgOf({ drawing, caption, report }: Picture): Blob | null {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return null;
  const measure = (text: string, font: string) => {
    context.font = font;
    return context.measureText(text);
  };
  const height = Math.ceil(drawPicture(new SvgSurface(measure), drawing, caption, report, 0));
  const surface = new SvgSurface(measure);
  drawPicture(surface, drawing, caption, report, height);
  return new Blob([surface.image(WIDTH, height, caption.title)], { type: "image/svg+xml" });
}
