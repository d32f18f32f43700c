import { describe, expect, it } from "vitest";
import type { Source } from "../src/generated/Source";
import type { View } from "../src/generated/View";
import { NO_BLOCKS } from "../src/state/blocks";
import { NO_DRAFT } from "../src/state/draft";
import { NO_FAMILIES } from "../src/state/families";
import { NO_LINES, NO_LISTS } from "../src/state/lines";
import { phaseOf, rowsOf, shareCounted } from "../src/state/rows";
import { NO_RULES, OTHER, OWN } from "../src/state/rules";
import { NOTHING_SAVED } from "../src/state/save";
import { NO_SERIES } from "../src/state/series";
import { isAwaiting, reduceSession as reduce } from "../src/state/session";
import { canAsk, INITIAL, type State, type Upload } from "../src/state/state";
import { type Page, reduce as reducePage } from "../src/state/store";
import { NO_STORY } from "../src/state/story";

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

describe("the slices of the state", () => {
  const page: Page = {
    session: { ...filtered, view: view(1), asked: 1, shown: filtered.question },
    draft: NO_DRAFT,
    rules: NO_RULES,
    blocks: NO_BLOCKS,
    lines: NO_LISTS,
    story: NO_STORY,
    save: NOTHING_SAVED,
    help: false,
    tab: "overview",
    families: NO_FAMILIES,
    series: NO_SERIES,
  };

  it("change apart, so that they are drawn apart", () => {
    const now = reducePage(page, { type: "rule", slot: OTHER, part: { text: "x" } });
    expect(now.rules.panels.map(({ text }) => text)).toEqual([null, "x"]);
    expect(now.rules.panels[OWN]).toBe(page.rules.panels[OWN]);
    const { rules: _, ...others } = now;
    for (const [name, slice] of Object.entries(others)) {
      expect(slice, name).toBe(page[name as keyof Page]);
    }
    const lines = { ...NO_LINES, total: 7 };
    const listed = reducePage(now, { type: "lines", list: "story", lines });
    expect(listed.lines.lists).toEqual({ filtered: NO_LINES, story: lines });
  });

  it("stay when another session is shown, for the same text is asked there again", () => {
    const ruled = reducePage(page, { type: "rule", slot: OWN, part: { text: "x" } });
    const now = reducePage(ruled, { type: "session", session: "t" });
    expect(now.session.view).toBeNull();
    expect(now.rules.panels[OWN].text).toBe("x");
  });

  it("show a changed question with its answer, or without one that is late", () => {
    const question = INITIAL.question;
    let now = reducePage(page, { type: "question", question });
    now = reducePage(now, { type: "asked", query: 2 });
    expect(now.session.shown).toBe(filtered.question);
    expect(reducePage(now, { type: "late" }).session.shown).toBe(question);
    now = reducePage(now, { type: "view", view: view(2), source_rates: [] });
    expect(now.session.shown).toBe(question);
  });

  it("know of a client what was asked last", () => {
    let now = reducePage(page, { type: "story", of: { field: "client", value: "::1" } });
    now = reducePage(now, { type: "story_asked", asked: 2 });
    const error = { name: "bad_rule", message: "no", file: null };
    const old = { type: "rules", panel: 7, query: 1, error } as const;
    expect(reducePage(now, { type: "story_rules", reply: old }).story.refusal).toBeNull();
    now = reducePage(now, { type: "story_rules", reply: { ...old, query: 2 } });
    expect(now.story).toMatchObject({ of: { value: "::1" }, refusal: "no", rules: null });
    now = reducePage(now, { type: "story_blocks", reply: { type: "blocks", panel: 5, query: 2 } });
    expect(now.story.blocked).toBeNull();
  });
});
