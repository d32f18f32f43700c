/** Hit rates of a gateway's caches. */

import { describe, expect, it } from "vitest";
import { cachesOf } from "../src/format/cache";
import type { Report } from "../src/generated/Report";
import type { View } from "../src/generated/View";
import { isWithoutLines } from "../src/state/withoutLines";

type Counts = Record<string, number>;

function reportOf(fields: Record<string, Counts>, kind = "request"): Report {
  const rows = (counts: Counts) =>
    Object.entries(counts).map(([value, count]) => ({ value, count, absent: value === "(none)" }));
  const top = Object.entries(fields).map(([field, counts]) => [field, rows(counts)]);
  return { kind, top: Object.fromEntries(top) } as unknown as Report;
}

describe("caches", () => {
  it("have the share of hits among what was asked", () => {
    const report = reportOf({
      token_cache: { hit: 75, miss: 25, "(none)": 900 },
      session_cache: { hit: 1, miss: 1, renewed: 2 },
      lookup_cache: { "(none)": 1_000 },
    });
    expect(cachesOf(report).map(({ title, rate, note }) => [title, rate, note])).toEqual([
      ["Token cache", "75.0%", "75 hits · 25 misses"],
      ["Session cache", "25.0%", "1 hit · 1 miss · 2 renewed"],
    ]);
  });

  it("strike the eye if they never hit, once they were asked often", () => {
    const of = (counts: Counts) => cachesOf(reportOf({ session_cache: counts }))[0];
    expect(of({ miss: 100 })).toMatchObject({ isUseless: true, rate: "0%" });
    expect(of({ miss: 100 })?.note).toBe("never hit in 100 requests");
    expect(of({ miss: 99 })?.isUseless).toBe(false);
    expect(of({ miss: 5_000, hit: 1 })?.isUseless).toBe(false);
  });

  it("are those of requests", () => {
    expect(cachesOf(reportOf({ token_cache: { hit: 1 } }, "error_log_line"))).toEqual([]);
    expect(cachesOf(reportOf({}))).toEqual([]);
  });
});

describe("a view without lines", () => {
  it("has sources, all of records only", () => {
    const of = (...only: boolean[]) =>
      isWithoutLines({ sources: only.map((it) => ({ records_only: it })) } as unknown as View);
    expect([of(true), of(true, true), of(true, false), of(), isWithoutLines(null)]).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
