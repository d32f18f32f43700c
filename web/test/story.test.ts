import { describe, expect, it } from "vitest";
import { networkOf } from "../src/format/network";
import type { Histogram } from "../src/generated/Histogram";
import type { Report } from "../src/generated/Report";
import {
  gapsOf,
  gapText,
  refusedText,
  ruleText,
  sessionsOf,
  sessionText,
  totalsText,
} from "../src/story/facts";
import { tellsOf } from "../src/story/tells";
import { key, rule } from "./replayed";

const histogram = (counts: number[]): Histogram => ({
  step_s: 60,
  field: "status_class",
  groups: ["2xx"],
  until: at(counts.length),
  buckets: counts.map((count, minute) => ({ start: at(minute), count, by: { "2xx": count } })),
});

const at = (minute: number) => new Date(minute * 60_000).toISOString();

describe("the silences of a client", () => {
  it("are between its requests, the longest ones in their order", () => {
    const found = gapsOf(histogram([0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]));
    expect(found.map(({ seconds }) => seconds)).toEqual([240, 180]);
    expect(gapText(found[0]!)).toBe("No request for about 4 min: 1970-01-01 00:07 to 00:11 UTC.");
    const many = [1, ...[3, 9, 4, 8, 5].flatMap((length) => [...Array(length).fill(0), 1])];
    expect(gapsOf(histogram(many)).map(({ seconds }) => seconds)).toEqual([540, 480, 300]);
    expect(gapsOf(histogram([0, 0, 0, 0]))).toEqual([]);
    expect(gapsOf(histogram([]))).toEqual([]);
  });
});

describe("the sessions of a client", () => {
  it("are parted by pauses of half an hour", () => {
    const pause = (minutes: number): number[] => Array(minutes).fill(0);
    const found = sessionsOf(histogram([...pause(3), 2, 0, 1, ...pause(30), 4, ...pause(29), 5]));
    expect(found).toEqual([
      { from: at(3), to: at(6), requests: 3 },
      { from: at(36), to: at(67), requests: 9 },
    ]);
    expect(sessionText(found[0]!)).toBe("1970-01-01 00:03 to 00:06 UTC: 3 requests");
    expect(sessionsOf(histogram([]))).toEqual([]);
  });

  it("are not told from steps that are too long", () => {
    expect(sessionsOf({ ...histogram([1, 0, 0, 0, 1]), step_s: 3_600 })).toEqual([]);
    expect(sessionsOf({ ...histogram([1, 0, 0, 0, 1]), step_s: 600 })).toHaveLength(2);
    expect(sessionsOf({ ...histogram([1, 0, 0, 0, 1]), step_s: 601 })).toEqual([]);
  });
});

describe("networks of addresses", () => {
  it("are those of a provider's customer", () => {
    expect(networkOf("203.0.113.7")).toBe("203.0.113.0/24");
    expect(networkOf("2001:db8:7a:11::42")).toBe("2001:db8:7a::/48");
    for (const other of ["::1", "example.org", "203.0.113.0/24", "2001:db8:7a::/48", "", "1.2.3"])
      expect(networkOf(other), other).toBeNull();
  });
});

describe("the rules that a client crossed", () => {
  it("are told with time and margin", () => {
    expect(ruleText(rule({ trips: [key()] }), "192.0.2.1")).toBe(
      "tripped, first 2026-11-22 10:00:00 UTC: peak 19, 14 over, 14 requests rejected.",
    );
    const below = key({ verdict: "passed", peak: 2, margin: -3, rejected: 0 });
    expect(ruleText(rule({ trips: [], closest: [below] }), "192.0.2.1")).toBe(
      "stayed below, peak 2, 3 to spare.",
    );
    const undecided = key({ verdict: "undecided" });
    expect(ruleText(rule({ trips: [], closest: [undecided] }), "192.0.2.1")).toContain("undecided");
    const ban = { key: "192.0.2.1", time: "2026-11-22T10:00:00Z", until: null };
    const bans = [{ ...ban, source: "a", line: 1, matches: [], already_banned: false }];
    expect(ruleText(rule({ trips: [], bans }), "192.0.2.1")).toBe(
      "1 ban, first 2026-11-22 10:00:00 UTC.",
    );
  });

  it("may count other keys than the client", () => {
    const keys = { seen: 3, tripped: 2, undecided: 0 };
    expect(ruleText(rule({ trips: [], keys }), "192.0.2.1")).toBe("2 of its 3 keys tripped it.");
    expect(ruleText(rule({ trips: [], keys: { ...keys, tripped: 0 } }), "192.0.2.1")).toBe(
      "It stayed below.",
    );
    const none = { seen: 0, tripped: 0, undecided: 0 };
    expect(ruleText(rule({ trips: [], keys: none }), "192.0.2.1")).toBe(
      "It sees none of its requests.",
    );
  });
});

describe("the totals of a client", () => {
  const report = (part: Partial<Report>) =>
    ({
      matching: 1200,
      errors: 30,
      absent: [],
      top: {},
      time: { first: "2026-11-22T10:00:00Z", last: "2026-11-22T12:05:00Z" },
      ...part,
    }) as unknown as Report;

  it("are a sentence", () => {
    expect(totalsText(report({}))).toBe(
      "1,200 requests from 2026-11-22 10:00:00 UTC to 2026-11-22 12:05:00 UTC, within 2 h 5 min. " +
        "30 of them ended with an error (2.5%).",
    );
    const time = { first: null, last: null } as unknown as Report["time"];
    expect(totalsText(report({ matching: 0, time }))).toBe("0 requests.");
    expect(totalsText(report({ absent: ["errors"], time }))).toBe("1,200 requests.");
  });

  it("name the refusals of the server", () => {
    const row = (value: string, count: number) => ({ value, count, errors: 0, bytes_sent: 0 });
    const top = { status: [row("200", 900), row("429", 250), row("403", 50)] };
    expect(refusedText(report({ top }))).toBe(
      "The server refused 300 of 1,200: 250 with 429, 50 with 403.",
    );
    expect(refusedText(report({ top: { status: [row("404", 3)] } }))).toBeNull();
  });
});

describe("an answer about all clients", () => {
  const listed = rule({ trips: [key()], closest: [key({ key: "192.0.2.2" })] });
  const answer = { rule: listed, bans: 0, alerts: 0, unknown_records: 0 };

  it("tells of the keys that it lists, unless its lists are cut off", () => {
    expect(tellsOf(answer, "192.0.2.1")).toBe(true);
    expect(tellsOf(answer, "192.0.2.2")).toBe(true);
    expect(tellsOf(answer, "192.0.2.3")).toBe(false);
    expect(tellsOf({ ...answer, bans: 1 }, "192.0.2.1")).toBe(false);
    expect(tellsOf({ ...answer, alerts: 1 }, "192.0.2.1")).toBe(false);
  });
});
