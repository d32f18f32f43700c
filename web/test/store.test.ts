import { describe, expect, it } from "vitest";
import type { Source } from "../src/generated/Source";
import type { View } from "../src/generated/View";
import { phaseOf, rowsOf, shareCounted } from "../src/state/rows";
import { canAsk, INITIAL, type State, type Upload } from "../src/state/state";
import { isAwaiting, reduce } from "../src/state/store";

const source = (over: Partial<Source>): Source => ({
  number: 0,
  fingerprint: null,
  file: "",
  name: "a.log",
  state: "reading",
  bytes_done: 10,
  bytes_total: 100,
  lines: 1,
  records: 1,
  unparsed_lines: 0,
  too_long_lines: 0,
  format: null,
  formats: [],
  format_share: null,
  message: null,
  ...over,
});

const view = (query: number, sources: Source[] = []): View =>
  ({ query, complete: false, sources, samples: [], notes: [] }) as unknown as View;

const upload = (over: Partial<Upload>): Upload => ({
  file: "f1",
  session: "s",
  name: "a.log",
  phase: "reading",
  bytes_total: 100,
  bytes_done: 40,
  bytes_per_second: 7,
  message: null,
  isFollowable: false,
  ...over,
});

const filtered: State = {
  ...INITIAL,
  session: "s",
  question: { ...INITIAL.question, clauses: [{ field: "status", op: "=", values: ["404"] }] },
};

const show = (before: State, query: number) =>
  reduce(before, { type: "view", view: view(query), source_rates: [] });

describe("views", () => {
  it("show the newest answer and keep the old one while the next is awaited", () => {
    let now = reduce(filtered, { type: "asked", query: 1 });
    expect(isAwaiting(now)).toBe(false);
    now = show(now, 1);
    now = reduce(now, { type: "asked", query: 2 });
    expect(isAwaiting(now)).toBe(true);
    now = show(now, 1);
    expect(now.view?.query).toBe(1);
    now = show(now, 2);
    expect(isAwaiting(now)).toBe(false);
    expect(show(now, 1).view?.query).toBe(2);
  });

  it("do not flash the unfiltered numbers before the question arrives", () => {
    expect(show(filtered, 0).view).toBeNull();
    const ofKind: State = {
      ...INITIAL,
      session: "s",
      question: { ...INITIAL.question, kind: "error_log_line" },
    };
    expect(show(ofKind, 0).view).toBeNull();
    expect(show({ ...INITIAL, session: "s" }, 0).view?.query).toBe(0);
  });

  it("take what the server answers once it has refused the question", () => {
    const refused = reduce(filtered, { type: "refused", message: "no" });
    const now = show(refused, 0);
    expect(now.view?.query).toBe(0);
    expect(isAwaiting(now)).toBe(false);
    expect(reduce(now, { type: "question", question: INITIAL.question }).refusal).toBeNull();
  });

  it("keep the question that they answer when the connection is lost", () => {
    let now = reduce({ ...INITIAL, session: "s" }, { type: "connection", connection: "open" });
    now = reduce(now, { type: "asked", query: 1 });
    now = show(now, 1);
    expect(canAsk(now)).toBe(true);
    now = reduce(now, { type: "question", question: filtered.question });
    now = reduce(now, { type: "asked", query: 2 });
    now = reduce(now, { type: "connection", connection: "lost" });
    expect(now.question).toEqual(INITIAL.question);
    expect(canAsk(now)).toBe(false);
    now = reduce(now, { type: "connection", connection: "gone" });
    expect(now.question).toEqual(INITIAL.question);
  });

  it("go with their session", () => {
    const now = show({ ...INITIAL, session: "s" }, 1);
    expect(reduce(now, { type: "session", session: "s" })).toBe(now);
    expect(reduce(now, { type: "session", session: "t" }).view).toBeNull();
  });
});

describe("rows", () => {
  it("put an upload and its source together", () => {
    const now: State = {
      ...filtered,
      uploads: [
        upload({}),
        upload({ file: "f2", phase: "waiting", bytes_done: 0 }),
        upload({ file: "f3", session: "t" }),
      ],
      view: view(1, [
        source({ file: "f1", lines: 5 }),
        source({ number: 1, name: "b.log", state: "done", bytes_done: 50, bytes_total: 50 }),
      ]),
    };
    const rows = rowsOf(now);
    expect(rows.map((row) => [row.key, row.phase, row.bytes_done])).toEqual([
      ["f1", "reading", 10],
      ["source-1", "done", 50],
      ["f2", "waiting", 0],
    ]);
    expect(rows[0]!.source?.lines).toBe(5);
    expect(rows[0]!.cancellable).toBe("f1");
    expect(rows[1]!.cancellable).toBeNull();
    // What was sent and is not in the numbers yet does not count.
    expect(shareCounted(now.view!.sources)).toBe(60 / 150);
  });

  it("believe the server that a file failed, and count it as read", () => {
    const failed = source({ file: "f1", state: "failed", message: "stalled" });
    const now = { ...filtered, uploads: [upload({})], view: view(1, [failed]) };
    const rows = rowsOf(now);
    expect(rows[0]).toMatchObject({ phase: "failed", message: "stalled" });
    expect(shareCounted(now.view.sources)).toBe(1);
  });

  it("are not done before their lines are counted", () => {
    const phase = (state: Source["state"]) =>
      rowsOf({
        ...filtered,
        uploads: [upload({ phase: "done" })],
        view: view(1, [source({ file: "f1", state })]),
      })[0]!.phase;
    expect(phase("reading")).toBe("reading");
    expect(phase("done")).toBe("done");
  });

  it("say that an upload of another page has broken off", () => {
    const sources = [source({ file: "f9", state: "interrupted" })];
    const now = { ...filtered, view: view(1, sources) };
    expect(rowsOf(now)[0]!.phase).toBe("orphaned");
    expect(phaseOf(rowsOf(now))).toBe("orphaned");
    const own = { ...now, uploads: [upload({ file: "f9", phase: "interrupted" })] };
    expect(rowsOf(own)[0]!.phase).toBe("interrupted");
  });

  it("say that all is read as long as what comes is read at once", () => {
    const states = (...all: Source["state"][]) =>
      phaseOf(
        rowsOf({
          ...filtered,
          view: view(
            1,
            all.map((state) => source({ state, bytes_total: null })),
          ),
        }),
      );
    expect(states("listening", "done")).toBe("listening");
    expect(states("following", "listening")).toBe("listening");
    expect(states("following", "failed")).toBe("following");
    expect(states("following", "reading")).toBe("reading");
    // A file that was added is in no view yet.
    expect(states("done")).toBe("reading");
  });
});
