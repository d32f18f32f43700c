import { describe, expect, it } from "vitest";
import type { Histogram } from "../src/generated/Histogram";
import { levelOf } from "../src/heat/draw";
import { densityOf, heatLayoutOf, stepAt } from "../src/heat/layout";
import { type Heat, heatOf, stepsText } from "../src/heat/map";
import {
  countIn,
  durationsIn,
  keyMeaning,
  NOTHING,
  narrowed,
  type Rectangle,
  timesOf,
} from "../src/heat/rectangle";

/** A map with these counts, one span a minute from midnight. */
function heat(counts: number[][], bounds: number[], quantiles: Record<string, number> = {}): Heat {
  const start = (at: number) => `2024-05-12T00:${String(at).padStart(2, "0")}:00Z`;
  const histogram: Histogram = {
    step_s: 60,
    field: "status_class",
    groups: [],
    until: start(counts.length),
    buckets: counts.map((_, at) => ({ start: start(at), count: 1, by: {} })),
  };
  const span = { count: 1, bytes_sent: 0, errors: 0, measures: quantiles };
  return heatOf({
    histogram,
    bounds: [],
    duration: "request_time",
    series: { spans: counts.map(() => span), map: { bounds_s: bounds, counts } },
  })!;
}

const BOUNDS = [0, 0.1, 0.2, 0.4, 0.8];
const MAP = heat(
  [
    [1, 2, 3, 4],
    [0, 0, 7, 0],
    [5, 0, 0, 1],
  ],
  BOUNDS,
  { "p50:request_time": 0.25, "p95:request_time": 0.5 },
);

const at = (from: number, to = from) => ({ anchor: from, at: to });

describe("a map of durations", () => {
  it("has the numbers of its answer", () => {
    expect(MAP.spans.map(({ total, median, p95 }) => [total, median, p95])).toEqual([
      [10, 0.25, 0.5],
      [7, 0.25, 0.5],
      [6, 0.25, 0.5],
    ]);
    const { spans } = heat([[]], []);
    expect(spans[0]).toMatchObject({ total: 0, median: null, p95: null });
  });

  it("is on a logarithmic axis, from the shortest at the bottom", () => {
    const layout = heatLayoutOf(MAP, 400, 250, 1);
    const { steps, frame, yOf } = layout;
    const bottom = frame.plot.top + frame.plot.height;
    expect(steps.map(({ height }) => height).every((height) => height > 0)).toBe(true);
    expect(steps[0]!.top + steps[0]!.height).toBeLessThanOrEqual(bottom);
    // Twice as long is always as far.
    expect(yOf(0.1) - yOf(0.2)).toBeCloseTo(yOf(0.2) - yOf(0.4));
    expect(yOf(0)).toBeGreaterThan(yOf(0.1));
    expect(layout.ticks.map(({ seconds }) => seconds)).toEqual([0.1, 0.2, 0.5]);
    for (const [step, { top, height }] of steps.entries()) {
      expect(stepAt(layout, top + height / 2)).toBe(step);
    }
    expect([stepAt(layout, -5), stepAt(layout, 999)]).toEqual([3, 0]);
  });

  it("has an axis for one duration, for none and for the longest", () => {
    for (const bounds of [[0, 0.001], [0.5, 0.56], [], [1e6, 18446744073.709553]]) {
      const counts = bounds.length === 0 ? [] : [1];
      const { steps, ticks } = heatLayoutOf(heat([counts], bounds), 400, 250, 2);
      expect(steps).toHaveLength(Math.max(0, bounds.length - 1));
      expect(steps.every(({ top, height }) => Number.isFinite(top) && height > 0)).toBe(true);
      expect(ticks.length).toBeGreaterThan(0);
      expect(ticks.length).toBeLessThan(12);
    }
  });

  it("compares cells of different heights by the same height", () => {
    const wide = heat([[8, 8]], [0.1, 0.2, 0.8]);
    const { steps, columns, most } = heatLayoutOf(wide, 400, 250, 1);
    expect(densityOf(wide, columns[0]!, 0, steps)).toBeCloseTo(8);
    expect(densityOf(wide, columns[0]!, 1, steps)).toBeCloseTo(4);
    expect(most).toBeCloseTo(8);
  });

  it("joins spans that share a pixel, and loses none", () => {
    const many = heat(Array(60).fill([1]), [0.1, 0.2]);
    const { columns } = heatLayoutOf(many, 52 + 12 + 25, 250, 1);
    expect(columns).toHaveLength(25);
    expect(columns[0]!.from).toBe(0);
    expect(columns.at(-1)!.to).toBe(60);
    columns.slice(1).forEach((column, at) => {
      expect(column.from).toBe(columns[at]!.to);
    });
  });

  it("shows a single record, and the most in the last colour", () => {
    expect(levelOf(1, 1, 6)).toBe(5);
    expect(levelOf(1, 1_000_000, 6)).toBe(0);
    expect(levelOf(1_000_000, 1_000_000, 6)).toBe(5);
    const levels = [1, 10, 100, 1_000, 10_000].map((count) => levelOf(count, 10_000, 6));
    expect(levels).toEqual([...levels].sort());
    expect(new Set(levels).size).toBe(5);
  });
});

describe("a rectangle", () => {
  const late: Rectangle = { time: at(2, 1), step: at(2, 3) };

  it("counts what it holds", () => {
    expect(countIn(MAP, late)).toBe(8);
    expect(countIn(MAP, NOTHING)).toBe(23);
    expect(countIn(MAP, { time: null, step: at(0) })).toBe(6);
  });

  it("becomes a range of time and a least duration", () => {
    const other = { field: "status", op: "=" as const, values: ["200"] };
    const before = { field: "request_time", op: ">" as const, values: ["0.05"] };
    expect(narrowed([other, before], MAP, late)).toEqual([
      other,
      { field: "time", op: ">=", values: ["2024-05-12T00:01:00Z"] },
      { field: "time", op: "<", values: ["2024-05-12T00:03:00Z"] },
      { field: "request_time", op: ">=", values: ["0.2"] },
    ]);
    expect(timesOf(MAP, late)).toEqual(["2024-05-12T00:01:00Z", "2024-05-12T00:03:00Z"]);
  });

  it("has no bound at an end of the map, and keeps that of the filter there", () => {
    const before = { field: "request_time", op: ">=" as const, values: ["0.05"] };
    const short: Rectangle = { time: null, step: at(0, 1) };
    expect(durationsIn(MAP, short)).toEqual([null, 0.2]);
    expect(narrowed([before], MAP, short)).toEqual([
      before,
      { field: "request_time", op: "<", values: ["0.2"] },
    ]);
    expect(narrowed([before], MAP, NOTHING)).toEqual([before]);
    const high: Rectangle = { time: null, step: at(0, MAP.bounds.length - 2) };
    expect(narrowed([before], MAP, high)).toEqual([before]);
    expect(narrowed([], MAP, high)).toEqual([{ field: "request_time", op: ">=", values: ["0"] }]);
  });

  it("says that a last step has no end", () => {
    const endless = heat([[1, 2]], [0.5, 1e6, 18446744073.709553]);
    expect(stepsText(endless, 0, 0)).toBe("500 ms to below 11 days 13 h");
    expect(stepsText(endless, 0, 1)).toBe("500 ms and more");
  });

  it("is made by keys", () => {
    const press = (rectangle: Rectangle, key: string, extend = false) => {
      const meaning = keyMeaning(rectangle, key, extend, MAP);
      return meaning?.type === "move" ? meaning.rectangle : meaning;
    };
    expect(press(NOTHING, "Enter")).toBeNull();
    expect(press(NOTHING, "Escape")).toBeNull();
    let now = press(NOTHING, "ArrowLeft") as Rectangle;
    expect(now).toEqual({ time: at(2), step: null });
    now = press(now, "ArrowLeft", true) as Rectangle;
    now = press(now, "ArrowDown") as Rectangle;
    expect(now).toEqual({ time: at(2, 1), step: at(3) });
    now = press(now, "ArrowDown", true) as Rectangle;
    expect(now).toEqual({ time: at(2, 1), step: at(3, 2) });
    expect(press(now, "Enter")).toEqual({ type: "select" });
    expect(press(now, "Escape")).toEqual({ type: "cancel" });
    expect(press(now, "x")).toBeNull();
  });
});
