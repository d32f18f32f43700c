import { describe, expect, it } from "vitest";
import { timeTicks } from "../src/chart/calendar";
import { clamped, keyMeaning, moved, spanOf } from "../src/chart/cursor";
import { bucketAt, extent, layoutOf, MARGIN } from "../src/chart/layout";
import { drawingOf } from "../src/chart/overlay";
import { groupColors } from "../src/chart/palette";
import { isStacked, seriesOf } from "../src/chart/series";
import { countScale } from "../src/chart/ticks";
import type { Histogram } from "../src/generated/Histogram";
import type { Report } from "../src/generated/Report";

/** A histogram with these counts, one bucket a minute from midnight. */
function histogramOf(counts: number[], step_s = 60): Histogram {
  const start = (at: number) =>
    `${new Date(Date.UTC(2024, 4, 12) + at * step_s * 1000).toISOString().slice(0, 19)}Z`;
  return {
    step_s,
    field: "status_class",
    groups: ["2xx", "5xx"],
    until: start(counts.length),
    buckets: counts.map((count, at) => ({ start: start(at), count, by: { "2xx": count } })),
  };
}

const WIDTH = 400 + MARGIN.left + MARGIN.right;
const HEIGHT = 200 + MARGIN.top + MARGIN.bottom;

describe("the counts of all records", () => {
  it("has the unfiltered counts to their own scale", () => {
    const histogram = { ...histogramOf([0, 1, 0]), unfiltered: [50, 100, 0] };
    const { columns, max } = layoutOf(histogram, WIDTH, HEIGHT, 1);
    expect(max).toBe(1);
    expect(columns.map((column) => column.all)).toEqual([0.5, 1, 0]);
    expect(layoutOf(histogramOf([1]), WIDTH, HEIGHT, 1).columns[0]!.all).toBe(1);
  });

  it("keeps its peaks where buckets share a pixel", () => {
    const counts = Array(5_000).fill(0);
    const unfiltered = counts.map((_, at) => (at === 2_345 ? 9 : 0));
    const { columns, merged } = layoutOf({ ...histogramOf(counts), unfiltered }, WIDTH, HEIGHT, 1);
    expect(merged).toBe(true);
    expect(columns.filter((column) => column.all === 1)).toHaveLength(1);
  });
});

describe("count scale", () => {
  it("is round and holds the maximum", () => {
    expect(countScale(0, 5)).toEqual({ ticks: [0], top: 1 });
    expect(countScale(1, 5)).toEqual({ ticks: [0, 1], top: 1 });
    expect(countScale(7, 4)).toEqual({ ticks: [0, 2, 4, 6], top: 7 });
    expect(countScale(1150, 4)).toEqual({ ticks: [0, 500, 1000], top: 1250 });
  });

  it("holds for any maximum, in whole steps", () => {
    for (let max = 1; max < 3e9; max = Math.ceil(max * 1.37)) {
      const { ticks, top } = countScale(max, 5);
      expect(top).toBeGreaterThanOrEqual(max);
      expect(top).toBeLessThan(max * 1.5 + 1);
      expect(ticks.every(Number.isInteger)).toBe(true);
      expect(ticks.length).toBeLessThanOrEqual(7);
    }
  });
});

describe("layout", () => {
  it("handles no bucket and one bucket", () => {
    expect(layoutOf(histogramOf([]), WIDTH, HEIGHT, 1).columns).toEqual([]);
    const { columns, max } = layoutOf(histogramOf([7]), WIDTH, HEIGHT, 1);
    expect(columns).toHaveLength(1);
    expect(columns[0]!.width).toBeLessThanOrEqual(64);
    expect(max).toBe(7);
  });

  it("gives each bucket a bar on device pixels, in order and apart", () => {
    const ratio = 1.5;
    const { columns } = layoutOf(histogramOf(Array(130).fill(3)), WIDTH, HEIGHT, ratio);
    expect(columns).toHaveLength(130);
    columns.forEach(({ x, width }, at) => {
      expect(Math.abs(x * ratio - Math.round(x * ratio))).toBeLessThan(1e-9);
      expect(width).toBeGreaterThan(0);
      const next = columns[at + 1];
      if (next) expect(x + width).toBeLessThan(next.x + 1e-9);
    });
  });

  it("merges 10,000 buckets to pixel columns and keeps every peak", () => {
    const counts = Array.from({ length: 10_000 }, (_, at) => (at === 5003 ? 999 : at % 7));
    const layout = layoutOf(histogramOf(counts), WIDTH, HEIGHT, 2);
    expect(layout.merged).toBe(true);
    expect(layout.columns).toHaveLength(800);
    expect(layout.max).toBe(999);
    expect(layout.columns.filter(({ bucket }) => bucket.count === 999)).toHaveLength(1);
  });

  it("finds the bucket under a pixel and the pixels of a bucket", () => {
    const layout = layoutOf(histogramOf(Array(100).fill(1)), WIDTH, HEIGHT, 1);
    for (const at of [0, 1, 50, 99]) {
      const { left, width } = extent(layout, at, at);
      expect(bucketAt(layout, left + width / 2)).toBe(at);
    }
    expect(bucketAt(layout, -100)).toBe(0);
    expect(bucketAt(layout, 1e6)).toBe(99);
  });
});

describe("time labels", () => {
  const starts = (counts: number, step_s: number) =>
    histogramOf(Array(counts).fill(1), step_s).buckets.map((bucket) => bucket.start);

  it("stand at round times and name the day once", () => {
    const ticks = timeTicks(starts(26 * 12, 300), 10);
    expect(ticks.map((tick) => tick.text)).toEqual([
      "12 May 2024",
      "03:00",
      "06:00",
      "09:00",
      "12:00",
      "15:00",
      "18:00",
      "21:00",
      "13 May",
    ]);
    expect(ticks.map((tick) => tick.bucket)).toEqual([0, 36, 72, 108, 144, 180, 216, 252, 288]);
  });

  it("name every other day where there is no room for all", () => {
    expect(timeTicks(starts(14 * 24, 3600), 10).map((tick) => tick.text)).toEqual([
      "13 May 2024",
      "15 May",
      "17 May",
      "19 May",
      "21 May",
      "23 May",
      "25 May",
    ]);
  });

  it("never exceed what is wanted, at any step", () => {
    for (const step_s of [1, 5, 60, 300, 3600, 86_400, 30 * 86_400]) {
      for (const count of [1, 2, 37, 400]) {
        const ticks = timeTicks(starts(count, step_s), 8);
        expect(ticks.length).toBeGreaterThan(0);
        expect(ticks.length).toBeLessThanOrEqual(8);
      }
    }
  });

  it("follow the wall clock of the stamps over a change of the clocks", () => {
    const doubled = ["01:00:00+02:00", "02:00:00+02:00", "02:00:00+01:00", "03:00:00+01:00"].map(
      (clock) => `2024-10-27T${clock}`,
    );
    expect(timeTicks(doubled, 8).map((tick) => tick.text)).toEqual([
      "27 Oct, 01:00",
      "02:00",
      "03:00",
    ]);
  });

  it("name a stretch that passes no round time", () => {
    expect(timeTicks(["2024-05-12T10:17:03+02:00"], 8)).toEqual([
      { bucket: 0, text: "12 May, 10:17:03", strong: true },
    ]);
    expect(timeTicks([], 8)).toEqual([]);
    const hours = Array.from({ length: 4 }, (_, at) => `2026-01-01T0${at}:00:00Z`);
    expect(timeTicks(hours, 8).map((tick) => tick.text)).toEqual([
      "1 Jan 2026",
      "01:00",
      "02:00",
      "03:00",
    ]);
    const months = Array.from({ length: 4 }, (_, at) => {
      const date = new Date(Date.UTC(2025, 10 + at, 1));
      return `${date.toISOString().slice(0, 19)}Z`;
    });
    const named = ["1 Nov 2025", "Dec", "2026", "Feb"];
    expect(timeTicks(months, 8).map((tick) => tick.text)).toEqual(named);
  });
});

describe("the lane", () => {
  it("shows all records to its own scale, below the chart and within it", () => {
    const unfiltered = [40, 80, 0];
    const { lane, plot } = layoutOf({ ...histogramOf([1, 2, 0]), unfiltered }, WIDTH, 246, 1);
    expect(lane).toEqual({ top: 220, height: 26, max: 80 });
    // The labels of the times stand between the bars and the lane.
    expect(plot.top + plot.height + 24).toBeLessThan(lane!.top);
  });

  it("shows what the chart shows if there is no filter", () => {
    const { lane, columns } = layoutOf(histogramOf([3, 6]), WIDTH, 246, 1);
    expect(lane?.max).toBe(6);
    expect(columns.map(({ all }) => all)).toEqual([0.5, 1]);
  });

  it("is left out of a strip", () => {
    const { lane, plot } = layoutOf(histogramOf([3, 6]), WIDTH, 74, 1);
    expect(lane).toBeNull();
    expect(plot.height).toBe(40);
  });
});

describe("cursor", () => {
  it("comes up, moves, extends and stays within", () => {
    const first = moved(null, "ArrowRight", false, 10)!;
    expect(first).toEqual({ at: 0, anchor: 0 });
    expect(moved(null, "ArrowLeft", false, 10)).toEqual({ at: 9, anchor: 9 });
    const wide = moved(moved(first, "ArrowRight", true, 10), "ArrowRight", true, 10)!;
    expect(spanOf(wide)).toEqual({ from: 0, to: 2 });
    expect(moved(wide, "End", true, 10)).toEqual({ at: 9, anchor: 0 });
    expect(moved(wide, "ArrowLeft", false, 10)).toEqual({ at: 1, anchor: 1 });
    expect(moved(first, "ArrowLeft", false, 10)).toEqual({ at: 0, anchor: 0 });
    expect(moved(first, "a", false, 10)).toBeNull();
    expect(moved(null, "ArrowRight", false, 0)).toBeNull();
  });

  it("leaves Escape to the page unless there is a selection to cancel", () => {
    const point = { at: 3, anchor: 3 };
    expect(keyMeaning({ at: 3, anchor: 5 }, "Escape", false, 10)).toEqual({ type: "cancel" });
    expect(keyMeaning(point, "Escape", false, 10)).toBeNull();
    expect(keyMeaning(point, "Enter", false, 10)).toEqual({ type: "zoom", cursor: point });
    expect(keyMeaning(null, "Enter", false, 10)).toBeNull();
    expect(keyMeaning(point, "Tab", false, 10)).toBeNull();
  });

  it("survives buckets that go away", () => {
    expect(clamped({ at: 8, anchor: 3 }, 5)).toEqual({ at: 4, anchor: 3 });
    expect(clamped({ at: 8, anchor: 3 }, 0)).toBeNull();
  });
});

describe("series", () => {
  it("give actions and levels the colour of the status class that they resemble", () => {
    const [ok, notice, warn, error] = groupColors(
      "status_class",
      ["2xx", "3xx", "4xx", "5xx"],
      "light",
    );
    expect(groupColors("action", ["ALLOW", "BLOCK", "LIMIT"], "light")).toEqual([ok, error, warn]);
    expect(groupColors("level", ["error", "warn", "notice", "info"], "light")).toEqual([
      error,
      warn,
      notice,
      ok,
    ]);
  });

  it("keep levels of one colour apart, and values without a colour", () => {
    const levels = ["emerg", "alert", "crit", "error", "trace1", "trace2", "(none)"];
    for (const theme of ["light", "dark"] as const)
      expect(new Set(groupColors("level", levels, theme)).size).toBe(levels.length);
  });

  it("lay what a firewall blocked over the requests", () => {
    const start = "2026-11-02T00:00:00Z";
    const until = "2026-11-02T00:01:00Z";
    const own = { step_s: 60, field: "status_class", groups: ["2xx", "4xx"], until };
    const over = { step_s: 60, field: "action", groups: ["(none)", "ALLOW", "BLOCK"], until };
    const report = {
      kind: "request",
      kinds: [{ kind: "firewall_event", records: 6 }],
      matching: 5,
      histogram: { ...own, buckets: [{ start, count: 5, by: { "2xx": 4, "4xx": 1 } }] },
      overlay: { ...over, buckets: [{ start, count: 6, by: { "(none)": 1, ALLOW: 2, BLOCK: 3 } }] },
    } as unknown as Report;
    for (const theme of ["light", "dark"] as const) {
      const { histogram, series, kinds } = drawingOf(report, theme)!;
      expect(histogram.buckets.map(({ count }) => count)).toEqual([11]);
      expect(series.map(({ label, total }) => [label, total])).toEqual([
        ["requests", 5],
        ["(none)", 1],
        ["ALLOW", 2],
        ["BLOCK", 3],
      ]);
      expect(new Set(series.map(({ color }) => color)).size).toBe(4);
      expect(kinds.map(({ many, total }) => [many, total])).toEqual([
        ["requests", 5],
        ["firewall events", 6],
      ]);
    }
    const events = drawingOf({ ...report, kind: "firewall_event" }, "light")!;
    expect(events.histogram).toBe(report.histogram);
  });

  it("adds the records that lack the field", () => {
    const histogram = histogramOf([5, 6]);
    histogram.buckets[1]!.by = { "5xx": 2 };
    const series = seriesOf(histogram, "light");
    expect(series.map(({ name, total }) => [name, total])).toEqual([
      ["2xx", 5],
      ["5xx", 2],
      [null, 4],
    ]);
  });

  it("does not divide what has no status", () => {
    const histogram = { ...histogramOf([5, 6]), groups: ["other"] };
    for (const bucket of histogram.buckets) bucket.by = { other: bucket.count };
    const series = seriesOf(histogram, "light");
    expect(isStacked(series)).toBe(false);
    expect(series.map(({ total, color }) => [total, color])).toEqual([
      [11, groupColors("status", ["200"], "light")[0]],
    ]);
    const fraction = seriesOf({ ...histogramOf([5, 6]), groups: ["other", "2xx"] }, "light");
    expect(isStacked(fraction)).toBe(true);
    expect(fraction[0]!.color).not.toBe(fraction[1]!.color);
  });

  it("gives each status code a colour of its own", () => {
    const codes = ["200", "206", "301", "304", "404", "500"];
    expect(new Set(groupColors("status", codes, "dark")).size).toBe(codes.length);
    expect(groupColors("status_class", ["2xx"], "light")).toEqual(
      groupColors("status", ["200"], "light"),
    );
  });
});
