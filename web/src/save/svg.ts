/** A picture as SVG, drawn as a canvas is. */

import type { Surface } from "../chart/draw";
import { visible } from "../format/text";

/** `600 15px sans-serif` and `12px sans-serif`. */
const FONT = /^(?:(\d+) )?([\d.]+)px (.*)$/;

const ANCHORS: Record<string, string> = { center: "middle", right: "end", end: "end" };

/** How far the base line of a text is below its place, as a part of the size of its letters. */
const BASELINES: Record<string, number> = { top: 0.8, middle: 0.35 };

/** Collects what is drawn as the elements of an SVG image. */
export class SvgSurface implements Surface {
  fillStyle = "#000000";
  font = "12px sans-serif";
  globalAlpha = 1;
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private readonly elements: string[] = [];

  /** `measure` returns the size of a text in a font, which only a canvas knows. */
  constructor(private readonly measure: (text: string, font: string) => TextMetrics) {}

  fillRect(x: number, y: number, width: number, height: number): void {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.elements.push(`<rect ${place} ${this.fill()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const [, weight, size = "12", family = ""] = FONT.exec(this.font) ?? [];
    // Few programs know the base lines of SVG.
    const base = y + Number(size) * (BASELINES[this.textBaseline] ?? 0);
    const anchor = ANCHORS[this.textAlign];
    const attributes = [
      `x="${short(x)}" y="${short(base)}" font-family="${escaped(family)}" font-size="${size}"`,
      ...(weight === undefined ? [] : [`font-weight="${weight}"`]),
      ...(anchor === undefined ? [] : [`text-anchor="${anchor}"`]),
      this.fill(),
    ];
    this.elements.push(`<text ${attributes.join(" ")}>${escaped(text)}</text>`);
  }

  measureText(text: string): TextMetrics {
    return this.measure(text, this.font);
  }

  /** The image; `title` is its name for programs that read it aloud. */
  image(width: number, height: number, title: string): string {
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
      `<title>${escaped(title)}</title>`,
      ...this.elements,
      "</svg>\n",
    ].join("\n");
  }

  private fill(): string {
    const color = `fill="${escaped(this.fillStyle)}"`;
    return this.globalAlpha === 1 ? color : `${color} fill-opacity="${this.globalAlpha}"`;
  }
}

/** A length with at most two decimals. */
function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text of the log, escaped for XML, which cannot contain control characters. */
function escaped(text: string): string {
  return visible(text).replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}
