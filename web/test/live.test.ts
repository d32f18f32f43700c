import { describe, expect, it } from "vitest";
import type { Query } from "../src/generated/Query";
import { LiveSocket } from "../src/socket/liveSocket";
import { FakeHost } from "./fakes";

const query = (id: number): Query => ({
  id,
  clauses: [],
  zone: null,
  top: 10,
  stack: "status_class",
  buckets: 400,
});

function start() {
  const host = new FakeHost();
  const heard: string[] = [];
  const live = new LiveSocket(host, "/api/sessions/ab/live", {
    opened: () => heard.push("opened"),
    lost: () => heard.push("lost"),
    view: (view) => heard.push(`view ${view.query}`),
    failed: (failure, query) => heard.push(`${failure.message} ${query}`),
    counted: (count, query) => heard.push(`count ${count?.matching} ${query}`),
    ruled: ({ panel, query }) => heard.push(`rules ${panel} ${query}`),
    lined: ({ panel, query }) => heard.push(`lines ${panel} ${query}`),
    listed: () => undefined,
    measured: () => undefined,
    blocked: () => 0,
  });
  return { host, heard, live };
}

describe("live socket", () => {
  it("asks once it is open and reports each view", () => {
    const { host, heard, live } = start();
    live.ask(query(1));
    expect(host.last.texts).toEqual([]);
    host.last.opens();
    live.ask(query(2));
    expect(host.last.texts.map((text) => (text.query as Query).id)).toEqual([1, 2]);
    host.last.says({ type: "view", view: { query: 2 } });
    const error = { name: "bad_query", message: "no", file: null };
    host.last.says({ type: "error", query: 2, error });
    host.last.says({ type: "error", query: null, error });
    expect(heard).toEqual(["opened", "view 2", "no 2", "no null"]);
  });

  it("reconnects with the last question, and resets its pause after each success", () => {
    const { host, heard, live } = start();
    host.last.opens();
    live.ask(query(7));
    host.last.breaks();
    host.elapse();
    host.last.breaks();
    host.elapse();
    host.last.opens();
    expect(host.last.texts).toMatchObject([{ query: { id: 7 } }]);
    host.last.breaks();
    expect(host.delays).toEqual([250, 500, 250]);
    expect(heard).toEqual(["opened", "lost", "lost", "opened", "lost"]);
  });

  it("counts what a query selects, and does not ask that again", () => {
    const { host, heard, live } = start();
    live.count(query(1));
    host.last.opens();
    live.count(query(2));
    live.count(null);
    expect(host.last.texts).toMatchObject([
      { type: "count", query: { id: 2 } },
      { type: "count", query: null },
    ]);
    host.last.says({ type: "count", query: 2, count: { matching: 7 } });
    const error = { name: "bad_query", message: "no", file: null };
    host.last.says({ type: "count", query: 3, error });
    host.last.breaks();
    host.elapse();
    host.last.opens();
    expect(host.last.texts).toEqual([]);
    expect(heard).toEqual(["opened", "count 7 2", "count undefined 3", "lost", "opened"]);
  });

  it("asks about the rules of each panel, and again after a reconnection", () => {
    const { host, heard, live } = start();
    live.askRules(0, query(1), { text: "a" });
    live.askRules(1, query(1), { text: "b" });
    host.last.opens();
    live.askRules(0, query(2), { text: "c" });
    live.askRules(1, query(2), null);
    host.last.says({ type: "rules", panel: 0, query: 2 });
    const texts = host.last.texts.map(({ panel, rule }) => [
      panel,
      (rule as { text: string })?.text,
    ]);
    expect(texts).toEqual([
      [0, "a"],
      [1, "b"],
      [0, "c"],
      [1, undefined],
    ]);
    host.last.breaks();
    host.elapse();
    host.last.opens();
    expect(host.last.texts).toMatchObject([{ type: "rules", panel: 0, rule: { text: "c" } }]);
    expect(heard).toEqual(["opened", "rules 0 2", "lost", "opened"]);
  });

  it("stays closed", () => {
    const { host, heard, live } = start();
    live.close();
    host.last.breaks();
    expect(host.isWaiting).toBe(false);
    expect(heard).toEqual([]);
  });
});
