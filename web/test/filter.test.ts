import { describe, expect, it } from "vitest";
import type { Clause } from "../src/generated/Clause";
import { chipsOf } from "../src/state/chips";
import { exclude, isIncluded, timeRange, toggleInclude, zoomed } from "../src/state/filter";
import { DEFAULT_QUESTION } from "../src/state/state";
import { addressOf, questionOf, searchOf, sessionOf } from "../src/state/url";

const text = (value: string) => ({ value });
const CAFE = { value: "/caf\ufffd", value_hex: "2f636166e9" };

describe("include", () => {
  it("joins the values of one field into one clause and takes them out again", () => {
    const one = toggleInclude([], "status", text("404"));
    const two = toggleInclude(one, "status", text("500"));
    expect(two).toEqual([{ field: "status", op: "=", values: ["404", "500"] }]);
    expect(isIncluded(two, "status", text("500"))).toBe(true);
    expect(toggleInclude(two, "status", text("404"))).toEqual([
      { field: "status", op: "=", values: ["500"] },
    ]);
    expect(toggleInclude(one, "status", text("404"))).toEqual([]);
    expect(one).toEqual([{ field: "status", op: "=", values: ["404"] }]);
  });

  it("keeps fields apart", () => {
    const both = toggleInclude(toggleInclude([], "status", text("404")), "path", text("404"));
    expect(both).toHaveLength(2);
    expect(isIncluded(both, "host", text("404"))).toBe(false);
  });

  it("writes bytes where text cannot", () => {
    expect(toggleInclude([], "path", CAFE)).toEqual([
      { field: "path", op: "=x", values: ["2f636166e9"] },
    ]);
    const both = toggleInclude(toggleInclude([], "path", text("/é")), "path", CAFE);
    expect(both).toEqual([{ field: "path", op: "=x", values: ["2fc3a9", "2f636166e9"] }]);
    expect(isIncluded(both, "path", text("/é"))).toBe(true);
    expect(isIncluded(both, "path", CAFE)).toBe(true);
    expect(toggleInclude(both, "path", text("/é"))).toEqual([
      { field: "path", op: "=x", values: ["2f636166e9"] },
    ]);
  });

  it("does not take a value for the one it only looks like", () => {
    const clauses = toggleInclude([], "path", text("/caf\ufffd"));
    expect(isIncluded(clauses, "path", CAFE)).toBe(false);
  });
});

describe("exclude", () => {
  it("joins values, once each, and undoes an include", () => {
    const clauses = exclude(
      exclude(exclude([], "path", text("/")), "path", text("/a")),
      "path",
      text("/"),
    );
    expect(clauses).toEqual([{ field: "path", op: "!=", values: ["/", "/a"] }]);
    const included = toggleInclude([], "path", text("/"));
    expect(exclude(included, "path", text("/"))).toEqual([
      { field: "path", op: "!=", values: ["/"] },
    ]);
    expect(toggleInclude(clauses, "path", text("/a"))).toEqual([
      { field: "path", op: "!=", values: ["/"] },
      { field: "path", op: "=", values: ["/a"] },
    ]);
  });

  it("keeps bytes and text in clauses of their own", () => {
    expect(exclude(exclude([], "path", text("/")), "path", CAFE)).toEqual([
      { field: "path", op: "!=", values: ["/"] },
      { field: "path", op: "!=x", values: ["2f636166e9"] },
    ]);
  });
});

describe("time", () => {
  it("replaces the range there was", () => {
    const status: Clause = { field: "status", op: "=", values: ["200"] };
    const once = zoomed([status], "a", "z");
    const twice = zoomed(once, "b", "c");
    expect(twice).toHaveLength(3);
    expect(timeRange(twice)).toEqual({ start: "b", end: "c" });
    expect(timeRange([status])).toBeNull();
  });

  it("is one chip", () => {
    const clauses = zoomed([], "2024-05-12T10:00:00+02:00", "2024-05-12T11:00:00+02:00");
    const [chip, ...rest] = chipsOf({
      clauses: toggleInclude(clauses, "status", text("404")),
      conditions: ["googlebot"],
    });
    expect(rest.map(({ values }) => values)).toEqual([["404"], ["googlebot"]]);
    expect(rest[1]!.without.conditions).toEqual([]);
    expect(chip!.values).toEqual(["2024-05-12 10:00 to 11:00 +02:00"]);
    expect(chip!.without).toEqual({
      clauses: [{ field: "status", op: "=", values: ["404"] }],
      conditions: ["googlebot"],
    });
  });
});

describe("address", () => {
  it("brings every clause back as it was", () => {
    const values = [
      "plain",
      "",
      "a~b",
      "!~!!",
      "100%&f=x#+ ",
      "<script>",
      "שלום\u202e\n",
      "~",
      "!",
    ];
    const operators = ["=", "!=", "=x", "!=x", "^=", "~", "!~", "<", "<=", ">", ">="] as const;
    const clauses = operators.map((op, at) => ({ field: `http_x~${at}`, op, values }));
    const kind = "error_log_line" as const;
    const question = {
      clauses,
      conditions: ["status=4xx or not (a and 'b c')", "100%&where=x#+ "],
      stack: "method",
      top: 50,
      zone: "Europe/Berlin",
      kind,
      hasOverlay: true,
      measure: "bytes" as const,
      duration: "upstream_time" as const,
    };
    expect(questionOf(`?${searchOf(question)}`)).toEqual(question);
  });

  it("is short and readable for the usual", () => {
    const start = { path: "/", served: null };
    expect(addressOf("ab12", DEFAULT_QUESTION, start)).toBe("/s/ab12");
    const clauses: Clause[] = [{ field: "status", op: "=", values: ["404", "500"] }];
    expect(addressOf("ab12", { ...DEFAULT_QUESTION, clauses }, start)).toBe(
      "/s/ab12?f=status~eq~404~500",
    );
    expect(addressOf(null, DEFAULT_QUESTION, start)).toBe("/");
    expect(addressOf("ab12", { ...DEFAULT_QUESTION, kind: "firewall_event" }, start)).toBe(
      "/s/ab12?kind=firewall_event",
    );
  });

  it("leaves out what it does not understand", () => {
    expect(questionOf("?f=&f=status&f=status~eq&f=status~huh~1&f=~eq~1&top=-3&by=&tz=")).toEqual(
      DEFAULT_QUESTION,
    );
    for (const name of ["", "Request", "constructor", "__proto__"])
      expect(questionOf(`?kind=${name}&of=${name}`)).toEqual(DEFAULT_QUESTION);
    const session = (path: string) => sessionOf({ path, served: null });
    expect(session("/s/00ff")).toBe("00ff");
    for (const path of ["/s/../etc", "/", "/new", "/d/", "/d/-a", "/d/a/b", "/d/a%20b", "/s/web1"])
      expect(session(path)).toBeNull();
  });

  it("has the name of what the program serves", () => {
    const served = "web1";
    for (const path of ["/", "/d/web1", "/d/web1/"]) {
      expect(sessionOf({ path, served })).toBe("web1");
      expect(addressOf("web1", { ...DEFAULT_QUESTION, top: 20 }, { path, served })).toBe(
        `${path}?top=20`,
      );
      // A new data set, and the page on which it can begin.
      expect(addressOf("ab12", DEFAULT_QUESTION, { path, served })).toBe("/s/ab12");
      expect(addressOf(null, DEFAULT_QUESTION, { path, served })).toBe("/new");
    }
    expect(sessionOf({ path: "/new", served })).toBeNull();
    expect(addressOf("web1", DEFAULT_QUESTION, { path: "/s/ab12", served })).toBe("/");
    // A name of another process, whose address the page reports.
    expect(sessionOf({ path: "/d/web2", served })).toBe("web2");
    expect(addressOf("web2", DEFAULT_QUESTION, { path: "/d/web2", served })).toBe("/d/web2");
  });
});
