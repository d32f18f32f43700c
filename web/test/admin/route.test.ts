import { describe, expect, it } from "vitest";
import { linesOf, MINUTE_MS, peakOf, withValues } from "../../src/admin/history";
import { flowsOf, flowText, isStill, joinOf, lanesOf } from "../../src/admin/route/lanes";
import { shownLimit } from "../../src/admin/route/limits";
import { CALM_MS, keyOf, ordered, withWork } from "../../src/admin/route/order";
import { factsOf, isIdle, stateOf } from "../../src/admin/route/stages";
import type { PassedRates } from "../../src/generated/PassedRates";
import type { Route } from "../../src/generated/Route";
import type { RouteStage } from "../../src/generated/RouteStage";
import type { RouteStageKind } from "../../src/generated/RouteStageKind";

const stage = (
  kind: RouteStageKind,
  name: string,
  rates: PassedRates,
  more: Partial<RouteStage> = {},
): RouteStage => ({ stage: kind, name, rates, ...more });

const route = (...stages: RouteStage[]): Route => ({
  span: 1,
  stages,
  slowest: { reason: "Nothing flows." },
  limits: [],
});

describe("the limits of the process", () => {
  it("are shown with what is used of them", () => {
    const { name, text, share } = shownLimit({ limit: "files", used: 12, used_max: 1024 });
    expect([name, text, share]).toEqual(["Open files", "12 of 1,024", 12 / 1024]);
    const memory = shownLimit({ limit: "memory", used: 20e6, used_max: 1e9 });
    expect([memory.text, memory.share]).toEqual(["20.0 MB of 1.00 GB", 0.02]);
    expect(shownLimit({ limit: "memory", used: 2e9, used_max: 1e9 }).share).toBe(1);
    const unknown = shownLimit({ limit: "memory", used: 20e6 });
    expect([unknown.text, unknown.share]).toEqual(["20.0 MB", null]);
  });
});

const texts = (all: Route) =>
  lanesOf(all).map(({ arrows }) =>
    arrows.flatMap(({ forth, back }) => [...forth, ...(back ? [back] : [])].map(flowText)),
  );

describe("the lanes of the route", () => {
  const gateway = route(
    stage("gateway", "", { records: 1500, busy: 0.02 }),
    stage("backend", "one", { bytes: 2e6, records: 1200 }),
    stage("backend", "two", { bytes: 1e6, records: 0 }),
    stage("client", "", { bytes: 6e6, records: 1500 }),
    stage("source", "gateway", { bytes: 3e5, records: 1500 }),
    stage("queue", "", {}),
    stage("parse", "", { bytes: 2.8e5, records: 1400 }),
    stage("data", "", { records: 1400 }),
    stage("view", "", { records: 2 }),
  );

  it("have an arrow between each two boxes, with what passes it", () => {
    const [requests, records] = lanesOf(gateway);
    expect(requests!.boxes.map(({ kind }) => kind)).toEqual(["client", "gateway", "backend"]);
    expect(records!.boxes.map(({ kind }) => kind)).toEqual([
      "source",
      "queue",
      "parse",
      "data",
      "view",
    ]);
    expect(texts(gateway)).toEqual([
      ["1,500 requests/s", "6.00 MB/s", "1,200 requests/s", "3.00 MB/s"],
      ["300 kB/s", "1,500 records/s", "280 kB/s", "1,400 records/s", "2 views/s"],
    ]);
    expect(joinOf(gateway)!.map(flowText)).toEqual(["1,500 records/s", "300 kB/s"]);
  });

  it("are only those that the program has", () => {
    const file = route(stage("source", "a.log", {}), stage("read", "", {}));
    expect(lanesOf(file).map(({ title }) => title)).toEqual(["Records"]);
    // Nothing is known of it, so nothing is shown, and the arrow is faint.
    expect(texts(file)).toEqual([[null, null]]);
    expect(isStill(lanesOf(file)[0]!.arrows[0]!)).toBe(true);
    expect(joinOf(file)).toBeNull();
    expect(lanesOf(route())).toEqual([]);
  });

  it("name each flow once in the history", () => {
    const ids = flowsOf(lanesOf(gateway)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const read = route(
      stage("source", "a", { bytes: 5 }),
      stage("read", "", {}),
      stage("parse", "", {}),
    );
    expect(flowsOf(lanesOf(read)).map(({ id }) => id)).toEqual(["source.bytes", "source.records"]);
  });
});

describe("the numbers of a stage", () => {
  it("are without zeros if it is idle, but for what a store holds", () => {
    const idle = stage("queue", "", { busy: 0 }, { held_bytes: 0, held_bytes_max: 1000 });
    expect(isIdle(idle)).toBe(true);
    expect(stateOf(idle, false)).toBe("idle");
    expect(stateOf(idle, true)).toBe("Slowest");
    expect(factsOf(idle)).toEqual([
      ["held", "0 B"],
      ["at most", "1.00 kB"],
    ]);
    expect(isIdle({ ...idle, held_bytes: 1 })).toBe(false);
    // Before there are two measurements nobody knows.
    const { rates: _, ...unknown } = idle;
    expect(isIdle(unknown)).toBe(false);
  });

  it("are times of a request in the lane of requests, and shares of a thread in the other", () => {
    const backend = stage("backend", "one", { records: 1200, busy: 96 }, { in_flight: 97 });
    expect(factsOf(backend).slice(0, 3)).toEqual([
      ["per request", "80.0 ms"],
      ["at a time", "96"],
      ["in flight", "97"],
    ]);
    expect(factsOf(stage("parse", "", { busy: 1.5, waiting: 0.00001 })).slice(0, 2)).toEqual([
      ["busy", "150%"],
      ["waiting", "<0.01%"],
    ]);
  });
});

describe("the stages of a box", () => {
  const idle = { records: 0, busy: 0 };
  const dead = stage("backend", "dead", idle, { is_failing: true, failed: 799, records: 799 });

  it("are failing if their requests fail, also when none come any more", () => {
    expect(stateOf(dead, false)).toBe("failing");
    expect(stateOf(dead, true)).toBe("failing");
    expect(factsOf(dead)).toEqual([
      ["failed", "799"],
      ["requests", "799"],
    ]);
    const half = { ...dead, rates: { records: 12, failed: 6 }, servers: 2, servers_available: 1 };
    const facts = factsOf(half).map(([name, text]) => `${name} ${text}`);
    expect(facts).toContain("failed/s 6");
    expect(facts).toContain("servers 1 of 2 up");
    expect(factsOf(stage("backend", "one", { records: 3, failed: 0 }, { failed: 0 }))).toEqual([
      ["requests/s", "3"],
    ]);
  });

  it("have the shares that backends got of routes with weights", () => {
    const shares = [
      { route: "/", asked: 0.05, got: 0.0388 },
      { route: "/api", asked: 0.5 },
      { route: "/none", asked: 0, got: 0 },
    ];
    expect(factsOf(stage("backend", "canary", idle, { shares }))).toEqual([
      ["share of /", "3.9%, asked 5%"],
      ["share of /api", "none, asked 50%"],
      ["share of /none", "0%, asked 0%"],
    ]);
  });

  it("have failing ones first, then busy ones, and keep their places for a while", () => {
    const names = (stages: RouteStage[]) => stages.map(({ name }) => name);
    const one = stage("backend", "one", idle);
    const two = stage("backend", "two", { records: 5 });
    const stages = [one, two, dead];
    const work = withWork(new Map(), stages, 0);
    expect(names(ordered(stages, work))).toEqual(["dead", "two", "one"]);
    const quiet = stages.map((each) => ({ ...each, rates: idle }));
    const soon = withWork(work, quiet, CALM_MS);
    expect(names(ordered(quiet, soon))).toEqual(["dead", "two", "one"]);
    const late = withWork(soon, quiet, CALM_MS + 1);
    expect(names(ordered(quiet, late))).toEqual(["dead", "one", "two"]);
    expect(withWork(work, [one], 1).has(keyOf(two))).toBe(false);
  });
});

describe("the last minute", () => {
  it("is kept, and nothing before it", () => {
    let history = withValues(
      new Map(),
      [
        ["a", 1],
        ["b", undefined],
      ],
      0,
    );
    for (let at = 1; at <= 90; at += 1) history = withValues(history, [["a", at]], at * 1000);
    const samples = history.get("a")!;
    expect(samples).toHaveLength(61);
    expect(samples[0]).toEqual({ at_ms: 30_000, value: 30 });
    expect(peakOf(samples)).toBe(90);
    expect(history.has("b")).toBe(false);
    expect(withValues(history, [], 90_000 + MINUTE_MS + 1).size).toBe(0);
  });

  it("is drawn from the right, and with gaps where nothing is known", () => {
    const samples = [0, 1, 2, 30, 31].map((second) => ({ at_ms: second * 1000, value: second }));
    const lines = linesOf(samples, 60_000, 31);
    expect(lines.map((line) => line.length)).toEqual([3, 2]);
    expect(lines[0]![0]).toEqual({ x: 0, y: 0 });
    expect(lines[1]![1]).toEqual({ x: 1 - 29 / 60, y: 1 });
    expect(
      linesOf(samples, 31_000, 0)
        .flat()
        .every(({ y }) => y === 0),
    ).toBe(true);
    expect(linesOf([], 0, 1)).toEqual([]);
  });
});
