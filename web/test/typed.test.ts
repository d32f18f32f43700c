import { describe, expect, it } from "vitest";
import type { Report } from "../src/generated/Report";
import { completionsOf } from "../src/state/typed";

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
    expect(completionsOf("path=", report)).toEqual(["path=/", 'path="/a b\\"*"']);
  });

  it("complete the last condition", () => {
    expect(completionsOf("path=/ AND not (status:", report)).toEqual([
      "path=/ AND not (status:404",
      "path=/ AND not (status:200",
    ]);
  });
});
