import { describe, expect, it } from "vitest";
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
    ({ type: "list_asked", panel: 2, query, field, order: "requests" }) as const;

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
    now = reduceFamilies(now, { ...asked(3, "hour"), order: "bytes" });
    expect(now.lists[2]?.answer).toBeNull();
    now = reduceFamilies(now, { type: "list_ended", panel: 2 });
    expect(now.lists).toEqual({});
  });
});
