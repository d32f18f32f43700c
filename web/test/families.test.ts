import { describe, expect, it } from "vitest";
import { cellOf, csvOf } from "../src/families/csv";
import { familiesOf, inOrder, knownFields } from "../src/families/families";
import type { FieldList } from "../src/generated/FieldList";
import type { Report } from "../src/generated/Report";
import type { TopRow } from "../src/generated/TopRow";
import { excluded, hasChosen, isChosen, toggled, withoutChosen } from "../src/state/choice";
import { NO_FAMILIES, reduceFamilies } from "../src/state/families";

const row = (value: string, count: number, over: Partial<TopRow> = {}): TopRow => ({
  value,
  count,
  bytes_sent: 0,
  errors: 0,
  ...over,
});

describe("the families of a log", () => {
  it("have each field once, in their order, and the unknown ones in the last card", () => {
    const fields = ["zone", "status", "path", "hour", "network", "client", "alpha", "agent_family"];
    const families = familiesOf(fields);
    expect(families.map(({ name, fields: own }) => [name, own])).toEqual([
      ["who", ["client", "network"]],
      ["what", ["path"]],
      ["how", ["status"]],
      ["with", ["agent_family"]],
      ["when", ["hour"]],
      ["others", ["alpha", "zone"]],
    ]);
    expect(families.flatMap((family) => family.fields).sort()).toEqual([...fields].sort());
  });

  it("say what happened by the fields that lead a kind", () => {
    const families = familiesOf(["client", "dst-port", "action"], ["action", "client", "dst-port"]);
    expect(families.map(({ name, fields }) => [name, fields])).toEqual([
      ["who", ["client"]],
      ["what", ["dst-port"]],
      ["how", ["action"]],
    ]);
  });

  it("begin with the field that leads them", () => {
    const families = familiesOf(
      ["level", "module", "path", "message"],
      ["message", "level", "module"],
    );
    expect(families[0]?.fields).toEqual(["message", "module", "path"]);
  });

  it("fold fields with one value in every record, and leave out those without a value", () => {
    const report = {
      kind: "request",
      matching: 5,
      top: {
        client: [row("192.0.2.1", 5)],
        protocol: [row("HTTP/1.1", 5)],
        user: [row("-", 5)],
        host: [row("a", 4)],
        status: [row("200", 3), row("404", 2)],
      },
    } as unknown as Report;
    const { listed, single } = knownFields(report);
    expect(single).toContain("protocol");
    expect(single).not.toContain("user");
    expect(listed).not.toContain("user");
    expect(listed).toContain("host");
    expect(listed).toContain("status");
  });

  it("put hours in their order, and those without one last", () => {
    const rows = [row("20", 9), row("(none)", 8, { absent: true }), row("03", 1)];
    expect(inOrder(rows).map(({ value }) => value)).toEqual(["03", "20", "(none)"]);
  });
});

describe("chosen rows", () => {
  const none = { value: "(none)", absent: true };
  const empty = { clauses: [], conditions: [] };

  it("are values in a clause, and none in a condition", () => {
    const one = toggled(empty, "path/1", none);
    expect(one).toEqual({ clauses: [], conditions: ['"path/1"=(none)'] });
    expect(isChosen(one, "path/1", none)).toBe(true);
    expect(hasChosen(one, "path/1")).toBe(true);
    expect(toggled(one, "path/1", none)).toEqual(empty);
    const value = toggled(one, "path/1", { value: "/shop/" });
    expect(value).toEqual({
      clauses: [{ field: "path/1", op: "=", values: ["/shop/"] }],
      conditions: [],
    });
    expect(toggled(value, "path/1", none)).toEqual(one);
  });

  it("are excluded apart from others, and left out of their own list", () => {
    const both = excluded(toggled(empty, "hour", { value: "03" }), "user", none);
    expect(both.conditions).toEqual(["user!=(none)"]);
    expect(withoutChosen(both, "hour").clauses).toEqual([]);
    expect(withoutChosen(both, "user")).toEqual(both);
  });
});

describe("a list that is asked for", () => {
  const reply = (query: number, answer: FieldList | undefined = undefined) => ({
    type: "list_reply" as const,
    reply: { type: "list" as const, panel: 2, query, ...(answer && { answer }) },
  });
  const list = (values: number) => ({ values }) as FieldList;
  const asked = (query: number, field: string) =>
    ({
      type: "list_asked",
      panel: 2,
      list: { query, field, order: "requests", from: 0 },
    }) as const;

  it("keeps its values until the next answer, and takes no answer to an older question", () => {
    let now = reduceFamilies(NO_FAMILIES, asked(1, "hour"));
    now = reduceFamilies(now, reply(1, list(7)));
    now = reduceFamilies(now, asked(2, "hour"));
    expect(now.lists[2]).toMatchObject({ answer: { values: 7 }, isAnswered: false });
    now = reduceFamilies(now, reply(1, list(8)));
    expect(now.lists[2]?.answer?.values).toBe(7);
    now = reduceFamilies(now, reply(2, list(9)));
    expect(now.lists[2]).toMatchObject({ answer: { values: 9 }, isAnswered: true });
    // Those of another order or field are not shown in its place.
    expect(reduceFamilies(now, asked(3, "date")).lists[2]?.answer).toBeNull();
    const { list: third } = asked(3, "hour");
    now = reduceFamilies(now, { type: "list_asked", panel: 2, list: { ...third, order: "bytes" } });
    expect(now.lists[2]?.answer).toBeNull();
    now = reduceFamilies(now, { type: "list_ended", panel: 2 });
    expect(now.lists).toEqual({});
  });

  it("knows how many values its answer has skipped until it has another", () => {
    const part = (query: number, from: number) =>
      ({
        type: "list_asked",
        panel: 2,
        list: { query, field: "path", order: "", from },
      }) as const;
    let now = reduceFamilies(NO_FAMILIES, part(1, 1000));
    now = reduceFamilies(now, reply(1, list(7)));
    expect(now.lists[2]).toMatchObject({ from: 1000, answerFrom: 1000 });
    now = reduceFamilies(now, part(2, 0));
    expect(now.lists[2]).toMatchObject({ from: 0, answerFrom: 1000, answer: { values: 7 } });
    now = reduceFamilies(now, reply(2, list(7)));
    expect(now.lists[2]?.answerFrom).toBe(0);
  });
});

describe("a list as a table", () => {
  it("has each value as the text that it is", () => {
    const row = (value: string, more: object = {}) => ({
      value,
      count: 2,
      errors: 1,
      bytes_sent: 30,
      measures: { "p95:request_time": 0.25 },
      ...more,
    });
    const rows = [
      row("/a"),
      row('say "hi", you'),
      row("=1+1"),
      row(""),
      row("(none)", { absent: true, measures: { "p95:request_time": null } }),
      row("two\nlines"),
    ];
    const group = { field: "path", rows, rest: { values: 0, count: 0, bytes_sent: 0, errors: 0 } };
    expect(csvOf({ group } as unknown as FieldList)).toBe(
      [
        "path,count,errors,bytes_sent,p95:request_time",
        "/a,2,1,30,0.25",
        '"say ""hi"", you",2,1,30,0.25',
        '"\'=1+1",2,1,30,0.25',
        '"",2,1,30,0.25',
        ",2,1,30,",
        '"two\nlines",2,1,30,0.25',
        "",
      ].join("\r\n"),
    );
  });

  it("are cells as the server writes them", () => {
    for (const text of ["-", "-5", "-0.5", "-1e5", "", "/a=b", "GET", "12", "\u{e4}"]) {
      expect(cellOf(text)).toBe(text);
    }
    for (const text of [
      "=1+1",
      "@SUM(A1)",
      "-1+cmd|' /C calc'!A0",
      "\t=1",
      "\n=2",
      "+49",
      "--",
      "-\n",
    ]) {
      expect(cellOf(text)).toBe(`"'${text}"`);
    }
    for (let code = 1; code < 0x7f; code += 1) {
      const byte = String.fromCharCode(code);
      expect(cellOf(`a${byte}`).startsWith('"'), byte).toBe("\",\n\r';\t".includes(byte));
    }
    expect(cellOf("a;=1")).toBe('"a;=1"');
    expect(cellOf('c"d')).toBe('"c""d"');
  });
});
