import { describe, expect, it } from "vitest";
import type { Clause } from "../src/generated/Clause";
import { conditionOf } from "../src/state/conditionText";

const of = (field: string, op: Clause["op"], ...values: string[]) =>
  conditionOf({ field, op, values });

describe("the condition of a clause", () => {
  it("is what a person would type", () => {
    expect(of("status", "=", "404", "403")).toBe("status=404,403");
    expect(of("status", "!=", "4xx")).toBe("status!=4xx");
    expect(of("client", "=", "192.0.2.0/24")).toBe("client=192.0.2.0/24");
    expect(of("path", "^=", "/a b")).toBe('path^="/a b"');
    expect(of("time", ">=", "2026-11-02T00:00:00Z")).toBe("time>=2026-11-02T00:00:00Z");
    expect(of("x y", "=", "1")).toBe('"x y"=1');
  });

  it("names absent and empty values, and escapes the others", () => {
    expect(of("referer", "=", "(none)", "")).toBe("referer=(none),(empty)");
    expect(of("path", "=", 'a"b\\c\n')).toBe('path="a\\"b\\\\c\\n"');
    expect(of("path", "=", "a\u202eb\u001b")).toBe('path="a\\xe2\\x80\\xaeb\\x1b"');
    expect(of("path", "!=x", "2fe922")).toBe('path!="/\\xe9\\""');
  });

  it("marks what could be read as a keyword or an operator", () => {
    expect(of("not", "=", "and")).toBe('"not"="and"');
    expect(of("app:name", "=", "a:b")).toBe('"app:name"=a:b');
    expect(of("x^", "=", "1")).toBe('"x^"=1');
  });

  it("keeps the backslashes of expressions", () => {
    expect(of("path", "~", '\\.png"$')).toBe('path~"\\.png\\x22$"');
    expect(of("path", "~", '\\\\"\\"')).toBe('path~"\\\\\\x22\\x22"');
    expect(of("path", "~", "a", "b")).toBe('path~"a" or path~"b"');
    expect(of("path", "!~", "a", "b")).toBe('path!~"a" and path!~"b"');
  });
});
