import { describe, expect, it } from "vitest";
import type { Report } from "../src/generated/Report";
import { completionsOf, isWhole, typedValue } from "../src/state/typed";

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
        row('/a b"*'),
        row("", { remainder: true }),
      ],
    },
    distinct: {},
    request_time: { p50: 1 },
    upstream_time: null,
  } as unknown as Report;

  const known = { report, derived: [], listed: null };
  const texts = (text: string, more: object = {}) =>
    completionsOf(text, { ...known, ...more }).map((one) => one.text);

  it("are the fields of the data, then the values of the field", () => {
    const fields = ["bytes>", "path=", "request_time>=", "status=", "time>="];
    expect(texts("")).toEqual(fields);
    expect(texts("sta")).toEqual(["status="]);
    expect(texts("status=")).toEqual(["status=404", "status=200"]);
    expect(texts("status!=4")).toEqual(["status!=404"]);
    expect(texts("nothing=")).toEqual([]);
    expect(texts("status=404"), "it is whole").toEqual([]);
  });

  it("have those first that begin with what is typed", () => {
    expect(texts("T")).toEqual(["time>=", "bytes>", "path=", "request_time>=", "status="]);
    expect(texts("status=0")).toEqual(["status=404", "status=200"]);
  });

  it("say how many records or values there are", () => {
    const counted = { ...report, distinct: { status: 2 } };
    const found = completionsOf("status", { ...known, report: counted });
    expect(found).toEqual([{ text: "status=", label: "status", count: 2, isField: true }]);
    expect(completionsOf("status=4", known)).toEqual([
      { text: "status=404", label: "404", count: 1, isField: false },
    ]);
  });

  it("leave out what cannot be typed", () => {
    expect(texts("path=")).toEqual(["path=/", 'path="/a b\\"*"']);
    expect(texts('path="/a')).toEqual(['path="/a b\\"*"']);
  });

  it("complete the last condition", () => {
    expect(texts("path=/ AND not (status:")).toEqual([
      "path=/ AND not (status:404",
      "path=/ AND not (status:200",
    ]);
    expect(texts("not sta")).toEqual(["not status="]);
  });

  it("are those of the value in quotation marks that is typed", () => {
    expect(texts('path="/a b\\"')).toEqual(['path="/a b\\"*"']);
    // Words and brackets in the marks begin no condition.
    expect(texts('path="/a or ')).toEqual([]);
    expect(texts('path="(')).toEqual([]);
    expect(texts('path="x or y" and sta')).toEqual(['path="x or y" and status=']);
    expect(texts('"stat'), "a text, and no field").toEqual([]);
  });

  it("add a value to those before it", () => {
    expect(texts("status=404,")).toEqual(["status=404,404", "status=404,200"]);
    expect(texts("status=404,2")).toEqual(["status=404,200"]);
    expect(texts('path="/a,b",/')).toEqual(['path="/a,b","/a b\\"*"']);
  });

  it("are also fields that follow from others, and the values that were asked for", () => {
    const more = { derived: ["hour"], listed: { field: "hour", rows: [row("03"), row("13")] } };
    expect(texts("ho", more)).toEqual(["hour="]);
    expect(texts("hour=3", more)).toEqual(["hour=03", "hour=13"]);
    expect(texts("hour!=0", more)).toEqual(["hour!=03"]);
    const listed = { field: "status", rows: [row("418"), row("(none)", { absent: true })] };
    expect(texts("status=", { listed })).toEqual(["status=418"]);
  });

  it("knows which value of which field is typed", () => {
    expect(typedValue('status=200 and path="/a \\"b')).toEqual({ field: "path", typed: '/a "b' });
    expect(typedValue("status=404,5")).toEqual({ field: "status", typed: "5" });
    expect(typedValue("stat")).toBeNull();
    expect(typedValue("path^=/x")).toBeNull();
  });

  it("are a filter once brackets are closed and a value is there", () => {
    for (const whole of ["status=404", 'path="(" or b', "(a or b)", "x", "referer=(none)"])
      expect(isWhole(whole), whole).toBe(true);
    for (const part of ["(status=404", "status=", "a and ", "not", "bytes>"])
      expect(isWhole(part), part).toBe(false);
  });
});
