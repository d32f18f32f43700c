import { describe, expect, it } from "vitest";
import { byFunction, summaryText as callsText, eachOf, related } from "../../src/admin/calls/calls";
import { barOf, spanOf, stepTime } from "../../src/admin/capture/steps";
import { EVENTS_MAX, fieldsText, NO_LOG, repeatsText, withTail } from "../../src/admin/log/events";
import { amount, average, momentText, percent } from "../../src/admin/numbers";
import {
  amountText,
  chosenStacks,
  functionSamples,
  type Profile,
  parseStacks,
  partsOf,
  shareText,
  summaryText,
} from "../../src/admin/profile/stacks";
import { framesOf, hueOf, keyMeaning, treeOf } from "../../src/admin/profile/tree";
import { nextSort, numberColumn, sorted, textColumn } from "../../src/admin/sorting";
import { factsOf, threadOf, withRates } from "../../src/admin/tasks/tables";
import type { LogEvent } from "../../src/generated/LogEvent";
import type { Task } from "../../src/generated/Task";

describe("numbers", () => {
  it("are never rounded to nothing", () => {
    expect([0, 0.04, 1.25, 9.96, 1234.5].map(amount)).toEqual(["0", "0.04", "1.3", "10", "1,235"]);
    expect([0, 0.001, 0.02].map(average)).toEqual(["0", "<0.01", "0.02"]);
    expect([0, 0.00001, 0.005, 1.5].map(percent)).toEqual(["0%", "<0.01%", "0.5%", "150%"]);
  });

  it("have thousandths in the time of a message", () => {
    expect(momentText("2026-11-24T03:07:00.123456Z")).toBe("2026-11-24 03:07:00.123 UTC");
    expect(momentText("2026-11-24T03:07:00Z")).toBe("2026-11-24 03:07:00.000 UTC");
    expect(momentText("yesterday")).toBe("yesterday");
  });
});

describe("a table", () => {
  const columns = [
    textColumn<{ name: string; busy?: number }>("name", "Name", ({ name }) => name),
    numberColumn<{ name: string; busy?: number }>("busy", "Busy", ({ busy }) => busy, String),
  ];
  const rows = [{ name: "b", busy: 1 }, { name: "c" }, { name: "a", busy: 3 }];
  const names = (key: string, isAscending: boolean) =>
    sorted(rows, columns, { key, isAscending }).map(({ name }) => name);

  it("is sorted by any column, with unknown values at the end", () => {
    expect(names("name", true)).toEqual(["a", "b", "c"]);
    expect(names("busy", false)).toEqual(["a", "b", "c"]);
    expect(names("busy", true)).toEqual(["b", "a", "c"]);
    expect(names("none", true)).toEqual(["b", "c", "a"]);
    const same = [{ name: "z", busy: 1 }, ...rows, { name: "a", busy: 1 }];
    const sort = { key: "busy", isAscending: false };
    expect(sorted(same, columns, sort).map(({ name }) => name)).toEqual(["a", "a", "b", "z", "c"]);
  });

  it("begins with the largest numbers and with A, and turns at the next click", () => {
    const [name, busy] = columns;
    expect(nextSort({ key: "name", isAscending: true }, busy!)).toEqual({
      key: "busy",
      isAscending: false,
    });
    expect(nextSort({ key: "busy", isAscending: false }, name!).isAscending).toBe(true);
    expect(nextSort({ key: "name", isAscending: true }, name!).isAscending).toBe(false);
  });
});

describe("tasks", () => {
  const task = (id: number, busy: number): Task => ({
    id,
    kind: "upload",
    name: "",
    state: "idle",
    place: "a.rs:1",
    age: 61,
    memory_bytes: 10,
    polls: 3,
    busy: 1,
    scheduled: 0,
    requests: 0,
    bytes: 0,
    rates: { polls: 1, busy, scheduled: 0, requests: 0, bytes: 0 },
  });
  const answer = (...tasks: Task[]) => ({
    kinds: [],
    tasks,
    tasks_left_out: 0,
    runtimes: [],
    threads: [],
  });

  it("keep the rates of a minute, and the open one for as long as it is open", () => {
    let histories = withRates(new Map(), answer(task(1, 0.5), task(2, 0.1)), null, 0);
    histories = withRates(histories, answer(task(1, 0.7)), "task 2", 50_000);
    expect(
      histories
        .get("task 1")!
        .rates.get("busy")!
        .map(({ value }) => value),
    ).toEqual([0.5, 0.7]);
    histories = withRates(histories, answer(), "task 2", 100_000);
    expect([...histories.keys()].sort()).toEqual(["task 1", "task 2"]);
    expect([...withRates(histories, answer(), null, 120_000).keys()]).toEqual([]);
  });

  it("have their totals as facts", () => {
    const facts = new Map(factsOf(task(1, 0)));
    expect(facts.get("Spawned at")).toBe("a.rs:1");
    expect(facts.get("Age")).toBe("1 min 1 s");
    expect(facts.has("On a processor so far")).toBe(false);
    expect([threadOf("thread 7"), threadOf("task 7")]).toEqual([7, null]);
  });
});

describe("a profile", () => {
  const folded =
    "parse;a;main;scan 2\nread;a;main;copy 1\nread;b;main;copy 1\nparse;b;main;split 4\n";
  const stacks = parseStacks(folded);
  const profile: Profile = {
    id: "1",
    stacks,
    samples: 8,
    total: 80_000_000,
    unit: "nanoseconds",
    lost: 0,
    noun: "processor time",
  };

  it("is narrowed to a stage and to a thread", () => {
    expect(partsOf(profile, "stage").map(({ text }) => text)).toEqual([
      "parse (75%)",
      "read (25%)",
    ]);
    expect(partsOf(profile, "thread").map(({ text }) => text)).toEqual(["b (63%)", "a (38%)"]);
    const chosen = chosenStacks(stacks, { stage: "parse", thread: "a" });
    expect(functionSamples(chosen)).toEqual([
      { name: "main", own: 0, total: 2 },
      { name: "scan", own: 2, total: 2 },
    ]);
    expect(parseStacks("")).toEqual([]);
  });

  it("counts a recursive function once in a stack", () => {
    expect(functionSamples(parseStacks("s;t;f;g;f 3"))).toEqual([
      { name: "f", own: 3, total: 3 },
      { name: "g", own: 0, total: 3 },
    ]);
  });

  it("is told in the units of what it measures", () => {
    expect(summaryText(profile)).toBe("8 samples, 80.0 ms of processor time");
    const held = { ...profile, unit: "bytes", noun: "held memory", lost: 3 };
    expect(summaryText(held)).toContain("80.0 MB of held memory; 3 more samples were lost");
    expect(summaryText({ ...profile, samples: 0, stacks: [] })).toContain("no samples");
    expect(amountText(profile, 4)).toBe("40.0 ms");
    expect([shareText(1, 3), shareText(1, 80), shareText(0, 0)]).toEqual([
      "33.3%",
      "1.25%",
      "0.00%",
    ]);
  });

  it("is a tree whose boxes are as wide as their shares", () => {
    const root = treeOf(stacks, "");
    expect([root.name, root.total, root.children.map(({ name }) => name)]).toEqual([
      "all threads",
      8,
      ["b", "a"],
    ]);
    const frames = framesOf(root, 800);
    const widths = new Map(frames.map(({ node, width, left }) => [node.name, [left, width]]));
    expect(widths.get("b")).toEqual([0, 500]);
    expect(widths.get("a")).toEqual([500, 300]);
    expect(widths.get("split")).toEqual([0, 400]);
    const b = root.children[0]!;
    const zoomed = framesOf(b, 800);
    expect(
      zoomed.slice(0, 2).map(({ node, width, isAbove }) => [node.name, width, isAbove]),
    ).toEqual([
      ["all threads", 800, true],
      ["b", 800, false],
    ]);
    // A box of a pixel is left out.
    expect(framesOf(root, 4).every(({ width }) => width >= 2)).toBe(true);
    expect(treeOf(chosenStacks(stacks, { stage: "", thread: "a" }), "a").name).toBe("a");
  });

  it("is walked by keys", () => {
    const root = treeOf(stacks, "");
    const [b, a] = root.children;
    const moved = (key: string, from = b!) => keyMeaning(key, from, root)?.node.name;
    expect(moved("ArrowRight")).toBe("a");
    expect(moved("ArrowLeft", a!)).toBe("b");
    expect(moved("ArrowLeft")).toBe("b");
    expect(moved("ArrowUp")).toBe("all threads");
    expect(moved("ArrowDown")).toBe("main");
    expect(keyMeaning("Escape", b!, root)).toEqual({ type: "zoom", node: root });
    expect(keyMeaning("Enter", b!, root)).toEqual({ type: "zoom", node: b });
    expect(keyMeaning("a", b!, root)).toBeNull();
    expect(hueOf("<core::iter as x>::y")).toBe(hueOf("core::fmt"));
  });
});

describe("calls", () => {
  const calls = [
    { name: "f", calls: 2, own: 1, accumulated: 4 },
    { name: "f", caller: "g", calls: 3, own: 2, accumulated: 6 },
    { name: "g", calls: 0, own: 0, accumulated: 0 },
  ];

  it("are summed up by function", () => {
    expect(byFunction(calls)[0]).toEqual({ name: "f", calls: 5, own: 3, accumulated: 10 });
    expect(byFunction(calls).map(eachOf)).toEqual([2, undefined]);
    expect(callsText({ seconds: 1, calls })).toBe("5 calls of 2 functions in 1.0 s");
    expect(callsText({ seconds: 1, calls: [] })).toContain("No marked function was called");
  });

  it("name callers and called functions", () => {
    expect(related(calls, "f").map(({ text }) => text)).toEqual([
      "called by no marked function",
      "called by g",
    ]);
    expect(related(calls, "g").map(({ text }) => text)).toEqual([
      "called by no marked function",
      "calls f",
    ]);
  });
});

describe("one request", () => {
  it("has its steps on a line of time, which may begin before it", () => {
    const steps = [
      { name: "client connection", begun: -1, duration: 0.5 },
      { name: "route", begun: 0, duration: 0.25 },
      { name: "last byte", begun: 3, duration: 0 },
    ];
    const span = spanOf(steps);
    expect(span).toEqual({ from: -1, length: 4 });
    expect(steps.map((step) => barOf(step, span))).toEqual([
      { left: 0, width: 12.5 },
      { left: 25, width: 6.25 },
      { left: 100, width: 0 },
    ]);
    expect([0, 0.0000005, 0.1502, -2.5, 75].map(stepTime)).toEqual([
      "0 s",
      "0.50 µs",
      "150.200 ms",
      "−2.500 s",
      "1 min 15 s",
    ]);
  });
});

describe("the log", () => {
  const event = (number: number): LogEvent => ({
    time: "2026-11-24T03:07:00.000000Z",
    level: "info",
    target: "weir",
    message: String(number),
  });
  const tail = (next: number, count: number) => ({
    filter: "info",
    level_max: "debug",
    next,
    events: Array.from({ length: count }, (_, at) => event(next - count + at)),
  });

  it("shows the newest first, as many as the program keeps", () => {
    const log = withTail(withTail(NO_LOG, tail(2, 2)), tail(3, 1));
    expect(log.events.map(({ number }) => number)).toEqual([2, 1, 0]);
    expect(withTail(NO_LOG, tail(3000, 3000)).events).toHaveLength(EVENTS_MAX);
  });

  it("begins again with another program", () => {
    const before = withTail(NO_LOG, tail(7, 7));
    expect(withTail(before, tail(1, 0))).toMatchObject({ next: 0, events: [] });
  });

  it("says how often a message came, and escapes what a stranger wrote", () => {
    expect(repeatsText({ ...event(1), repeated: 1 })).toBe(" (repeated once)");
    expect(repeatsText({ ...event(1), repeated: 2000 })).toBe(" (repeated 2,000 times)");
    expect(repeatsText({ ...event(1), similar: 3 })).toBe(" (and 3 more of this kind)");
    expect(repeatsText(event(1))).toBe("");
    expect(fieldsText({ ...event(1), fields: { a: "\u202e", b: 2 } })).toBe(" a=\\u202e b=2");
  });
});
