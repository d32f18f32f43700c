import { describe, expect, it } from "vitest";
import type { ReplayedRule } from "../src/generated/ReplayedRule";
import type { RuleAnswer } from "../src/generated/RuleAnswer";
import { closestStop, peaksAbove, stopsOf, verdictAt, withBurst } from "../src/rules/limit";
import {
  briefText,
  exactnessText,
  isClient,
  keysText,
  leftOutText,
  lookedAtText,
  requestsText,
} from "../src/rules/words";
import { NO_RULE, withReply } from "../src/state/rules";
import { key, rule } from "./replayed";

const answer = (burst: number, points: number[], peaks: number[]): RuleAnswer => ({
  rule: rule(),
  bans: 0,
  alerts: 0,
  unknown_records: 0,
  curve: {
    rate: 1,
    burst,
    peaks,
    points: points.map((burst) => ({
      burst,
      keys: peaks.filter((peak) => peak > burst).length,
      requests: 100 - burst,
    })),
  },
});

describe("the limit line", () => {
  it("finds the keys over a burst as a filter does", () => {
    for (const length of [0, 1, 2, 7, 1000]) {
      const peaks = Array.from({ length }, (_, at) => ((at * 7919) % 997) / 7).sort(
        (a, b) => b - a,
      );
      const { curve } = answer(0, [0], peaks);
      for (const burst of [0, 1, 5, 17, 71, 142, 143, ...peaks.slice(0, 20)]) {
        expect(peaksAbove(curve!, burst)).toBe(peaks.filter((peak) => peak > burst).length);
      }
    }
  });

  it("is quick over as many peaks as an answer can have", () => {
    const peaks = Array.from({ length: 100_000 }, (_, at) => 100_000 - at);
    const { curve } = answer(0, [0], peaks);
    expect(peaksAbove(curve!, 99_990)).toBe(10);
    expect(peaksAbove(curve!, 0)).toBe(100_000);
  });

  it("stands at the bursts of the curve and at that of the rule", () => {
    expect(stopsOf(answer(5, [0, 5, 9], [7])).map(({ burst }) => burst)).toEqual([0, 5, 9]);
    const own = stopsOf(answer(6, [0, 5, 9], [7.5, 7, 3]));
    expect(own.map(({ burst }) => burst)).toEqual([0, 5, 6, 9]);
    expect(own[2]).toEqual({ burst: 6, keys: 2, requests: 14 });
    expect(stopsOf(answer(20, [0, 5], [])).at(-1)?.burst).toBe(20);
    const stops = stopsOf(answer(5, [0, 5, 9, 100], []));
    expect([0, 2, 6, 8, 50, 1e9].map((burst) => closestStop(stops, burst))).toEqual([
      0, 1, 1, 2, 3, 3,
    ]);
    expect(stopsOf({ rule: rule(), bans: 0, alerts: 0, unknown_records: 0 })).toEqual([]);
  });

  it("tells what a burst would do with a key", () => {
    expect([18, 19, 20].map((burst) => verdictAt(key(), burst))).toEqual([
      "rejected",
      "passed",
      "passed",
    ]);
    const range = key({ peak: 19, peak_range: [18, 20] });
    expect([17, 18, 19, 20].map((burst) => verdictAt(range, burst))).toEqual([
      "rejected",
      "undecided",
      "undecided",
      "passed",
    ]);
  });

  it("rewrites the rule", () => {
    const zone = "limit_req_zone $uri zone=a:1m rate=1r/s;\n";
    for (const [before, burst, after] of [
      ["limit_req zone=a burst=20 nodelay;", 7, "limit_req zone=a burst=7 nodelay;"],
      ["limit_req burst=20 zone=a;", 7, "limit_req burst=7 zone=a;"],
      ["limit_req zone=a burst=7;", 7, "limit_req zone=a burst=7;"],
      ["limit_req zone=a nodelay;", 7, "limit_req zone=a burst=7 nodelay;"],
      ["limit_req zone=a burst=20 delay=5;", 0, "limit_req zone=a delay=5;"],
      ["limit_req zone=a;", 0, "limit_req zone=a;"],
      [
        "# limit_req zone=b burst=1;\nlimit_req zone=a burst=2;",
        3,
        "# limit_req zone=b burst=1;\nlimit_req zone=a burst=3;",
      ],
      [
        "limit_req_status 429; limit_req zone=a;",
        4,
        "limit_req_status 429; limit_req zone=a burst=4;",
      ],
    ] as const) {
      expect(withBurst(zone + before, burst)).toBe(zone + after);
    }
  });
});

describe("the rules panel", () => {
  it("answers in sentences", () => {
    expect(keysText(rule())).toBe("Of 3 clients, 1 trips the rule.");
    const open = rule({ keys: { seen: 1200, tripped: 0, undecided: 4 } });
    expect(keysText(open)).toBe("Of 1,200 clients, none trips the rule, and 4 are undecided.");
    expect(requestsText(rule())).toBe("Of 24 requests, it passes 10 and rejects 14.");
    const all = rule({ requests: { passed: 1, delayed: 2, rejected: 3, undecided: 4 } });
    expect(requestsText(all)).toBe(
      "Of 10 requests, it passes 1, delays 2 and rejects 3; 4 are undecided.",
    );
    const likely = rule({
      keys: { seen: 1200, tripped: 2, undecided: 4 },
      requests: { passed: 50, delayed: 0, rejected: 30, undecided: 20 },
      estimate: { keys: 3, rejected: 41 },
    });
    expect(keysText(likely)).toBe(
      "Of 1,200 clients, about 3 trip the rule (2 for certain, at most 6).",
    );
    expect(requestsText(likely)).toBe(
      "Of 100 requests, it rejects about 41 (30 for certain, at most 50).",
    );
    const unlikely = rule({ ...open, estimate: { keys: 0, rejected: 0 } });
    expect(keysText(unlikely)).toBe(
      "Of 1,200 clients, likely none trips the rule (none for certain, at most 4).",
    );
    const named = rule({ trips: [key({ key: "example.org" })] });
    expect(keysText(named)).toBe("Of 3 keys, 1 trips the rule.");
    const several = rule({ trips: [key({ key: "192.0.2.1", limit: "login" })] });
    expect(keysText(several)).toBe("Of 3 keys, 1 trips the rule.");
    const nothing = rule({ keys: { seen: 0, tripped: 0, undecided: 0 } });
    expect(keysText(nothing)).toBe("Nothing was evaluated.");
  });

  it("says what it looked at, and why that was nothing", () => {
    expect(lookedAtText(rule())).toBe(
      "It looked at 26 lines, 25 of them records, and applies to 24.",
    );
    const counts = { lines: 1200, unparsed: 1, records: 1200, evaluated: 0, dated: 3 };
    const looked_at = { ...counts, nothing: "No line matches a failregex." };
    expect(lookedAtText(rule({ looked_at }))).toBe(
      "No line matches a failregex. " +
        "It looked at 1,200 lines, 3 with a date, 1 in no known format, and applies to 0.",
    );
  });

  it("says that parts of the rule were not followed", () => {
    expect(exactnessText(rule())).toBe("Exact, decision for decision.");
    const part = rule({ exactness: "bounded", not_followed: ["`if`: the block is not followed"] });
    expect(exactnessText(part)).toContain("Parts of the rule were not followed");
  });

  it("names the rules of a set that the log cannot decide", () => {
    const group = { reason: "`FILES` is not in a log", rules: 3, first_ids: ["1", "2"] };
    expect(leftOutText(group)).toBe("3 (1, 2 and others): `FILES` is not in a log.");
    expect(leftOutText({ ...group, rules: 2 })).toContain("2 (1, 2): ");
    expect(leftOutText({ ...group, first_ids: [] })).toContain("3: ");
  });

  it("has its answer in a line", () => {
    const brief = (...rules: ReplayedRule[]) =>
      briefText({
        rules: rules.map((rule) => ({ rule, bans: 0, alerts: 0, unknown_records: 0 })),
        notes: [],
        complete: true,
      });
    expect(brief(rule())).toBe("1 rule, 1 client tripped it");
    const none = rule({ keys: { seen: 3, tripped: 0, undecided: 0 } });
    expect(brief(none)).toBe("1 rule, no client tripped it");
    expect(brief(rule(), none)).toBe("2 rules, 1 tripped");
  });

  it("filters by keys that are addresses", () => {
    expect(["192.0.2.1", "2001:db8::1", "::1"].every(isClient)).toBe(true);
    expect(["example.org", "/a", "", "deadbeef", "1.2.3", "a:b g"].some(isClient)).toBe(false);
  });

  it("shows the reply to its last question", () => {
    const asked = { ...NO_RULE, text: "x", asked: 3, isAnswered: false };
    const found = { rules: [], notes: [], complete: true };
    const reply = { type: "rules", panel: 0, query: 3, answer: found } as const;
    expect(withReply(asked, reply)).toMatchObject({ isAnswered: true, answer: found });
    expect(withReply(asked, { ...reply, query: 2 })).toBe(asked);
    const error = { name: "bad_rule", message: "no", file: null };
    const refused = withReply(asked, { type: "rules", panel: 0, query: 3, error });
    expect(refused).toMatchObject({ answer: null, refusal: "no", place: null });
    expect(withReply(asked, { type: "rules", panel: 0, query: null, error }).refusal).toBe("no");
  });
});
