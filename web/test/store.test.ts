import { describe, expect, it } from "vitest";
import type { Source } from "../src/generated/Source";
import type { View } from "../src/generated/View";
import { phaseOf, rowsOf, shareRead } from "../src/state/rows";
import { INITIAL, type State, type Upload } from "../src/state/state";
import { isAwaiting, reduce } from "../src/state/store";

const source = (over: Partial<Source>): Source => ({
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
        source({ name: "b.log", state: "done", bytes_done: 50, bytes_total: 50 }),
      ]),
    };
    const rows = rowsOf(now);
    expect(rows.map((row) => [row.key, row.phase, row.bytes_done])).toEqual([
      ["f1", "reading", 40],
      ["source-1", "done", 50],
      ["f2", "waiting", 0],
    ]);
    expect(rows[0]!.source?.lines).toBe(5);
    expect(rows[0]!.cancellable).toBe("f1");
    expect(rows[1]!.cancellable).toBeNull();
    expect(shareRead(rows)).toBe(90 / 250);
  });

  it("believe the server that a file failed, and count it as read", () => {
    const failed = source({ file: "f1", state: "failed", message: "stalled" });
    const rows = rowsOf({ ...filtered, uploads: [upload({})], view: view(1, [failed]) });
    expect(rows[0]).toMatchObject({ phase: "failed", message: "stalled" });
    expect(shareRead(rows)).toBe(1);
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
