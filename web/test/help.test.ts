import { describe, expect, it } from "vitest";
import type { Report } from "../src/generated/Report";
import { examplesOf } from "../src/help/examples";

const row = (value: string, count = 1, over = {}) => ({
  value,
  count,
  bytes_sent: 0,
  errors: 0,
  ...over,
});

const reportOf = (top: Report["top"], over = {}) =>
  ({ kind: "request", top, request_time: null, upstream_time: null, ...over }) as unknown as Report;

const conditions = (report: Report) => examplesOf(report).map(({ condition }) => condition);

describe("examples of conditions", () => {
  it("are made of what the log has most of", () => {
    const report = reportOf(
      {
        status: [row("200", 900), row("404", 35)],
        path: [row("/"), row("/a b/c")],
        client: [row("2001:db8:7a:11::42"), row("192.0.2.7")],
        user_agent: [row("Mozilla/5.0 (compatible; Googlebot/2.1)")],
      },
      { request_time: { p95: 0.123456 } },
    );
    expect(examplesOf(report)).toEqual([
      { condition: "status=404", hint: "35 requests" },
      { condition: 'path^="/a b/"', hint: "begins with" },
      { condition: "client=2001:db8:7a::/48", hint: "a network" },
      { condition: "request_time>=123.45ms", hint: "the slowest 5%" },
    ]);
  });

  it("take other fields if those are missing", () => {
    const report = reportOf({
      client: [row("::1")],
      level: [row("error", 3)],
      message: [row("", 9), row('say "hi"', 2)],
    });
    expect(examplesOf(report)).toEqual([
      { condition: "level=error", hint: "3 requests" },
      { condition: 'message="say \\"hi\\""', hint: "2 requests" },
    ]);
  });

  it("leave out what cannot be typed or read", () => {
    const report = reportOf({
      status: [row("(none)", 5, { absent: true }), row("x", 4, { remainder: true })],
      path: [row("/\u202e/"), row(`/${"x".repeat(80)}/`), row("/\ufffd/", 1, { value_hex: "2f" })],
      client: [row("example.org"), row("192.0.2")],
      method: [row("GET\n")],
      "odd name": [row("1")],
    });
    expect(conditions(report)).toEqual([]);
    expect(examplesOf(reportOf({}))).toEqual([]);
  });

  it("count durations in the unit that suits them, and never above the value", () => {
    const slowest = (p95: number) => conditions(reportOf({}, { request_time: { p95 } }))[0];
    expect(slowest(1.999)).toBe("request_time>=1.99s");
    expect(slowest(0.0005)).toBe("request_time>=500us");
    expect(slowest(0)).toBeUndefined();
  });
});
