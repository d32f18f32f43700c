import { describe, expect, it } from "vitest";
import { selectionText } from "../src/format/kind";
import type { Query } from "../src/generated/Query";
import type { SelectionCount } from "../src/generated/SelectionCount";
import { PAUSE_MS, SelectionCounter } from "../src/socket/selectionCounter";
import { reduceSession } from "../src/state/session";
import { INITIAL } from "../src/state/state";
import { FakeHost } from "./fakes";

const query = (condition: string): Query => ({
  id: 0,
  clauses: [],
  conditions: [condition],
  zone: null,
  top: 10,
  stack: "status_class",
  buckets: 400,
});

const of = (matching: number): SelectionCount => ({ kind: "request", matching, records: 9 });

function start() {
  const host = new FakeHost();
  const sent: (string | undefined)[] = [];
  const ids: number[] = [];
  const shown: (number | null)[] = [];
  const counter = new SelectionCounter(
    host,
    (query) => {
      sent.push(query?.conditions?.[0]);
      if (query) ids.push(query.id);
    },
    (count) => shown.push(count?.matching ?? null),
  );
  return { host, sent, ids, shown, counter };
}

describe("the count of what is typed", () => {
  it("is asked for after a pause, for the last text alone", () => {
    const { host, sent, ids, shown, counter } = start();
    for (const text of ["s", "st", "status=404"]) counter.count(query(text));
    expect(sent).toEqual([]);
    host.elapse();
    expect([sent, host.delays.at(-1)]).toEqual([["status=404"], PAUSE_MS]);
    counter.answer(of(3), ids[0]!);
    expect(shown).toEqual([null, null, null, 3]);
  });

  it("is dropped when the text changes", () => {
    const { host, sent, ids, shown, counter } = start();
    counter.count(query("a"));
    host.elapse();
    counter.count(query("ab"));
    expect(sent, "the work on it ends").toEqual(["a", undefined]);
    counter.answer(of(1), ids[0]!);
    host.elapse();
    counter.answer(of(1), ids[0]!);
    counter.answer(of(2), ids[1]!);
    expect(shown).toEqual([null, null, 2]);
    counter.count(null);
    expect(sent, "nothing is left to end").toEqual(["a", undefined, "ab"]);
    expect(shown.at(-1)).toBe(null);
    expect(host.isWaiting).toBe(false);
  });

  it("ends when the text is applied, and stays on the screen", () => {
    const { host, sent, ids, shown, counter } = start();
    counter.count(query("a"));
    host.elapse();
    counter.answer(of(1), ids[0]!);
    counter.stop();
    expect([sent, shown]).toEqual([["a"], [null, 1]]);
    counter.count(query("ab"));
    host.elapse();
    counter.stop();
    counter.answer(of(2), ids[1]!);
    expect([sent, shown]).toEqual([
      ["a", "ab", undefined],
      [null, 1, null],
    ]);
  });

  it("is not shown for a text that is not a condition", () => {
    const { host, ids, shown, counter } = start();
    counter.count(query("status="));
    host.elapse();
    counter.answer(null, ids[0]!);
    expect(shown).toEqual([null, null]);
  });

  it("is a sentence, and goes with the connection", () => {
    const request = { kind: "request", matching: 1_234, records: 56_789 } as const;
    expect(selectionText(request)).toBe("1,234 of 56,789 requests");
    expect(selectionText({ ...request, estimated: true })).toBe("about 1,234 of 56,789 requests");
    expect(selectionText({ kind: "firewall_event", matching: 0, records: 1 })).toBe(
      "0 of 1 firewall event",
    );
    const counted = reduceSession(INITIAL, { type: "counted", count: request });
    expect(counted.typedCount).toBe(request);
    expect(reduceSession(counted, { type: "connection", connection: "lost" }).typedCount).toBe(
      null,
    );
  });
});
