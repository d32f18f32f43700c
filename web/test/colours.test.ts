// The contrast of every colour of the page, computed from the style sheet as WCAG 2.2 defines it.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { drawLayout, type Surface } from "../src/chart/draw";
import { layoutOf } from "../src/chart/layout";
import { groupEdge, isWorst, stackRank, statusColor, type Theme } from "../src/chart/palette";
import { seriesOf } from "../src/chart/series";
import type { Histogram } from "../src/generated/Histogram";
import { PALETTE } from "../src/generated/palette";

const BASE = readFileSync(new URL("../src/styles/base.css", import.meta.url), "utf8");
const THEMES = ["light", "dark"] as const;

/** The colours of the style sheet that differ between the themes. */
const TOKENS = new Map(
  [...BASE.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)].map(
    ([, name, light, dark]) => [name!, { light: light!, dark: dark! }] as const,
  ),
);

function token(name: string, theme: Theme): string {
  const color = TOKENS.get(name);
  if (color === undefined) throw new Error(`base.css has no colour --${name}`);
  return color[theme];
}

function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (high! + 0.05) / (low! + 0.05);
}

/** Asserts the contrast of tokens on other tokens in both themes. */
function expectContrast(least: number, colors: string[], grounds: string[]): void {
  for (const theme of THEMES)
    for (const color of colors)
      for (const ground of grounds) {
        const is = contrast(token(color, theme), token(ground, theme));
        expect(is, `--${color} on --${ground}, ${theme}`).toBeGreaterThanOrEqual(least);
      }
}

const SURFACES = ["ground", "panel", "sunk", "raised"];

describe("contrast", () => {
  it("is computed as in the examples of WCAG", () => {
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
    expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
  });

  it("of all text is at least 4.5 on every surface", () => {
    expectContrast(4.5, ["ink", "ink-2", "ink-3", "accent", "bad", "warn", "good"], SURFACES);
    expectContrast(4.5, ["ink", "ink-2", "accent"], ["accent-tint"]);
    expectContrast(4.5, ["ink", "ink-2"], ["bar", "bar-on"]);
    expectContrast(4.5, ["accent-ink"], ["accent"]);
    for (const name of ["bad", "warn", "good"])
      expectContrast(4.5, [name, "ink"], [`${name}-tint`]);
  });

  it("of the edges of controls is at least 3", () => {
    expectContrast(3, ["line-strong"], ["ground", "panel", "sunk"]);
    expectContrast(3, ["accent"], SURFACES);
  });

  it("of failures, and of the line on top of pale areas, is at least 3", () => {
    for (const theme of THEMES) {
      const panel = token("panel", theme);
      for (const status of ["4xx", "5xx"])
        expect(contrast(statusColor(status, theme), panel)).toBeGreaterThanOrEqual(3);
      for (const status of ["2xx", "3xx"])
        expect(contrast(groupEdge("status_class", status, theme)!, panel)).toBeGreaterThanOrEqual(
          3,
        );
      expect(groupEdge("status_class", "2xx", theme)).toBe(token("edge", theme));
      expect(groupEdge("status_class", "3xx", theme)).toBe(token("edge-redirect", theme));
      for (const color of PALETTE[theme].series)
        expect(contrast(color, panel), color).toBeGreaterThanOrEqual(3);
    }
  });

  it("keeps the classes apart in grey", () => {
    for (const theme of THEMES) {
      const levels = ["2xx", "3xx", "4xx", "5xx"]
        .map((status) => luminance(statusColor(status, theme)) + 0.05)
        .sort((a, b) => a - b);
      for (let at = 1; at < levels.length; at += 1)
        expect(levels[at]! / levels[at - 1]!, theme).toBeGreaterThan(1.14);
    }
  });
});

describe("a stack", () => {
  const order = (field: string, groups: string[]) =>
    [...groups].sort((a, b) => stackRank(field, a) - stackRank(field, b));

  it("has its failures on the baseline", () => {
    expect(order("status_class", ["1xx", "2xx", "3xx", "4xx", "5xx", "other"])).toEqual([
      "5xx",
      "4xx",
      "3xx",
      "2xx",
      "1xx",
      "other",
    ]);
    expect(order("status", ["200", "404", "304", "503", "403"])).toEqual([
      "503",
      "404",
      "403",
      "304",
      "200",
    ]);
    expect(order("level", ["info", "warn", "error"])).toEqual(["error", "warn", "info"]);
  });

  it("of other fields keeps the order of the groups", () => {
    expect(order("method", ["GET", "POST", "5xx"])).toEqual(["GET", "POST", "5xx"]);
    expect(groupEdge("host", "2xx", "light")).toBeNull();
  });

  it("hatches the worst", () => {
    expect(["500", "5xx", "404", "200"].map((group) => isWorst("status", group))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(isWorst("action", "BLOCK")).toBe(true);
    expect(isWorst("host", "500")).toBe(false);
  });
});

describe("a drawing", () => {
  /** Keeps the rectangles that are drawn, each with its colour. */
  class Rectangles {
    fillStyle = "";
    font = "";
    globalAlpha = 1;
    textAlign = "left" as const;
    textBaseline = "top" as const;
    readonly drawn: { color: string; y: number; height: number }[] = [];
    fillRect(_x: number, y: number, _width: number, height: number): void {
      this.drawn.push({ color: this.fillStyle, y, height });
    }
    fillText(): void {}
    measureText(): TextMetrics {
      return { width: 20 } as TextMetrics;
    }
  }

  it("stands failures on the baseline, hatches the worst and lines the pale", () => {
    const bucket = {
      start: "2026-11-02T00:00:00Z",
      count: 10,
      by: { "2xx": 4, "4xx": 2, "5xx": 4 },
    };
    const histogram = {
      step_s: 60,
      field: "status_class",
      groups: ["2xx", "4xx", "5xx"],
      buckets: [bucket],
      until: "2026-11-02T00:01:00Z",
    } as unknown as Histogram;
    const surface = new Rectangles();
    const layout = layoutOf(histogram, 200, 134, 1);
    const ink = { text: "t", strong: "s", grid: "g", ground: "p", font: "" };
    drawLayout(surface as unknown as Surface, layout, seriesOf(histogram, "light"), ink, 1);
    const of = (color: string) => surface.drawn.filter((one) => one.color === color);
    const colorOf = (status: string) => statusColor(status, "light");
    const [bad, worse, fine] = ["4xx", "5xx", "2xx"].map((status) => of(colorOf(status))[0]);
    // The plot is 100 pixels high, from 10 to 110, and 10 records fill it.
    expect(layout.counts.top).toBe(10);
    expect(worse).toMatchObject({ y: 70, height: 40 });
    expect(bad).toMatchObject({ y: 50, height: 19 });
    expect(fine).toMatchObject({ y: 10, height: 39 });
    expect(of(token("edge", "light"))).toEqual([{ color: "#4a86bb", y: 10, height: 1.5 }]);
    const stripes = of("p").map(({ y }) => y);
    expect(stripes.length).toBe(9);
    expect(stripes.every((y) => y > 70 && y < 110 && (110 - y) % 4 === 0)).toBe(true);
  });
});
