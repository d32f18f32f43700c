import { describe, expect, it } from "vitest";
import type { Report } from "../src/generated/Report";
import { zoomed } from "../src/state/filter";
import { completionsOf, parseClause, withClause } from "../src/state/typed";

const clause = (text: string) => parseClause(text)!;
const filter = (...texts: string[]) => texts.map(clause).reduce(withClause, []);

describe("a typed condition", () => {
  it("is a field, an operator and a value", () => {
    expect(clause("path~^/api")).toEqual({ field: "path", op: "~", values: ["^/api"] });
    expect(clause("client=10.0.0.0/8")).toEqual({
      field: "client",
      op: "=",
      values: ["10.0.0.0/8"],
    });
    expect(clause(" status >= 400 ")).toEqual({ field: "status", op: ">=", values: ["400"] });
    expect(clause("user_agent!~bot")).toEqual({ field: "user_agent", op: "!~", values: ["bot"] });
    expect(clause("query^=a=b")).toEqual({ field: "query", op: "^=", values: ["a=b"] });
    expect(
      ["=", "!=", "^=", "~", "!~", "<", "<=", ">", ">="].map((op) => clause(`f${op}v`).op),
    ).toEqual(["=", "!=", "^=", "~", "!~", "<", "<=", ">", ">="]);
  });

  it("is refused where something is missing", () => {
    for (const text of ["", "status", "=404", "status=", "status! 4", "  "])
      expect(parseClause(text)).toBeNull();
  });

  it("joins what is there", () => {
    expect(filter("status=404", "status=500", "status=404")).toEqual([
      { field: "status", op: "=", values: ["404", "500"] },
    ]);
    expect(filter("path!=/", "path!=/a", "path!=/")).toEqual([
      { field: "path", op: "!=", values: ["/", "/a"] },
    ]);
    expect(filter("path~a", "path~b", "path~a")).toHaveLength(2);
    const range = zoomed([], "2024-05-12T10:00:00Z", "2024-05-12T11:00:00Z");
    const narrowed = withClause(range, clause("time>=2024-05-12T10:30:00Z"));
    expect(narrowed.map(({ values }) => values[0])).toEqual([
      "2024-05-12T11:00:00Z",
      "2024-05-12T10:30:00Z",
    ]);
  });
});

describe("completions", () => {
  const row = (value: string, over = {}) => ({
    value,
    count: 1,
    bytes_sent: 0,
    errors: 0,
    ...over,
  });
  const report = {
    top: {
      status: [row("404"), row("200")],
      path: [
        row("/"),
        row("/\ufffd", { value_hex: "2fe9" }),
        row("a\nb"),
        row("", { remainder: true }),
      ],
    },
    request_time: { p50: 1 },
    upstream_time: null,
  } as unknown as Report;

  it("are the fields of the data, then the values of the field", () => {
    expect(completionsOf("", report)).toEqual(["bytes", "path", "request_time", "status", "time"]);
    expect(completionsOf("sta", report)).toContain("status");
    expect(completionsOf("status=", report)).toEqual(["status=404", "status=200"]);
    expect(completionsOf("status!=4", report)).toEqual(["status!=404", "status!=200"]);
    expect(completionsOf("nothing=", report)).toEqual([]);
  });

  it("leave out what cannot be typed", () => {
    expect(completionsOf("path=", report)).toEqual(["path=/"]);
  });
});
