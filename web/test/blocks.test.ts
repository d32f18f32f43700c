import { describe, expect, it } from "vitest";
import { mayHaveBlocks } from "../src/blocks/control";
import { errorLogBlocks } from "../src/blocks/errorLogBlocks";
import { sentenceParts, trialOf } from "../src/blocks/trial";
import {
  clockText,
  countsText,
  crossings,
  crossingText,
  durationText,
  looksText,
  parseOffset,
  restOfSentence,
} from "../src/blocks/words";
import { overlayNoun } from "../src/format/kind";
import { listed } from "../src/format/text";
import type { BlockedClient } from "../src/generated/BlockedClient";
import type { BlockRule } from "../src/generated/BlockRule";
import type { BlocksReport } from "../src/generated/BlocksReport";
import type { RuleAnswer } from "../src/generated/RuleAnswer";
import { NO_BLOCKS, withReply } from "../src/state/blocks";

const client = (part: Partial<BlockedClient> = {}): BlockedClient => ({
  client: "192.0.2.1",
  blocks: 3,
  first: "2026-11-22T12:00:09Z",
  last: "2026-11-22T12:00:12Z",
  rules: [],
  before: { requests: 0, statuses: [] },
  after: { requests: 0, statuses: [] },
  sentence: "192.0.2.1 was rejected 3 times",
  ...part,
});

const report = (part: Partial<BlocksReport> = {}): BlocksReport => ({
  blocks: 3,
  unknown: 0,
  addresses: 1,
  window_s: 600,
  clock: { offset_s: 0, estimate: null },
  causes: [],
  sampled: false,
  omissions: [],
  clients: [client()],
  ...part,
});

describe("the blocks panel", () => {
  it("takes the reply to its last question alone", () => {
    const asked = { ...NO_BLOCKS, asked: 2, isAnswered: false };
    const answer = { report: report(), complete: true };
    expect(withReply(asked, { type: "blocks", panel: 7, query: 1, answer })).toBe(asked);
    const answered = withReply(asked, { type: "blocks", panel: 7, query: 2, answer });
    expect(answered).toMatchObject({ isAnswered: true, isComplete: true, refusal: null });
    expect(answered.report?.blocks).toBe(3);
    const error = { name: "bad_request", message: "why", file: null };
    const refused = withReply(answered, { type: "blocks", panel: 7, query: 2, error });
    expect(refused.refusal).toBe("why");
    expect(refused.report).not.toBeNull();
  });

  it("asks only if there are requests and something else", () => {
    expect(mayHaveBlocks([])).toBe(false);
    expect(mayHaveBlocks([{ kind: "request", records: 5 }])).toBe(false);
    const errors = { kind: "error_log_line" as const, records: 1 };
    expect(mayHaveBlocks([errors])).toBe(false);
    expect(mayHaveBlocks([{ kind: "request", records: 5 }, errors])).toBe(true);
    expect(mayHaveBlocks([{ kind: "request", records: 0 }, errors])).toBe(false);
  });
});

describe("the words about blocks", () => {
  it("count blocks and addresses", () => {
    expect(countsText(report())).toBe("3 blocks of 1 address");
    expect(countsText(report({ blocks: 1, addresses: 1200 }))).toBe("1 block of 1,200 addresses");
    expect(restOfSentence(client())).toBe(" was rejected 3 times.");
  });

  it("count the blocks that error logs state", () => {
    const causes = [
      { cause: "request_limit" as const, blocks: 40, sampled: 0 },
      { cause: "packet_filter" as const, blocks: 9, sampled: 9 },
      { cause: "access_rule" as const, blocks: 2, sampled: 0 },
      { cause: "jail" as const, blocks: 1, sampled: 0 },
    ];
    expect(errorLogBlocks(report({ causes }))).toBe(42);
    expect(errorLogBlocks(report())).toBe(0);
    expect(errorLogBlocks(null)).toBe(0);
    expect(overlayNoun(0, 42).many).toBe("blocks");
    expect(overlayNoun(4, 0).many).toBe("firewall events");
    const both = overlayNoun(4, 42).many;
    expect(both).toBe("blocks and firewall events");
    expect(listed(["requests", both])).toBe("requests, blocks and firewall events");
    expect(listed(["requests", "blocks"])).toBe("requests and blocks");
    expect(listed(["requests"])).toBe("requests");
  });

  it("describe the clocks", () => {
    const estimate = { offset_s: 7200, by: "rejections" as const, pairs: 40, agreeing: 39 };
    expect(clockText({ offset_s: 7200, estimate })).toBe(
      "The clock of the blocks is 2 h ahead of that of the requests: 39 of 40 rejections agree.",
    );
    expect(clockText({ offset_s: -90, estimate })).toMatch(
      /You have set that it is 1 min 30 s behind that of the requests\.$/,
    );
    expect(clockText({ offset_s: 0, estimate: null })).toMatch(/cannot be told/);
    expect(clockText({ offset_s: 5, estimate: null })).toMatch(/5 s ahead .* as you have set it/);
  });

  it("read the offsets that they write", () => {
    for (const seconds of [0, 1, 59, 60, 3600, 3661, 7200, 172_800]) {
      expect(parseOffset(durationText(seconds))).toBe(seconds);
      if (seconds > 0) expect(parseOffset(`-${durationText(seconds)}`)).toBe(-seconds);
    }
    expect(parseOffset(" 2h ")).toBe(7200);
    expect(parseOffset("-1h30min")).toBe(-5400);
    expect(parseOffset("90s")).toBe(90);
    for (const text of ["", "-", "x", "2", "1.5h", "49h", "5s 2h", "--2h"]) {
      expect(parseOffset(text)).toBeNull();
    }
  });

  it("tell which replayed rules a client crossed, and when", () => {
    const answer = (key: string, time: string) =>
      ({ rule: { name: "one", trips: [{ key, time }], bans: [] } }) as unknown as RuleAnswer;
    const rules = [
      answer("192.0.2.1", "2026-11-22T10:00:04Z"),
      answer("192.0.2.2", "2026-11-22T10:00:04Z"),
    ];
    const [crossing, ...others] = crossings(client(), rules, 7200);
    expect(others).toEqual([]);
    expect(crossing).toEqual({ rule: "one", before_s: 5 });
    expect(crossingText(crossing!)).toBe("crosses one 5 s before the first block");
    expect(crossingText({ rule: "one", before_s: -61 })).toBe(
      "crosses one 1 min 1 s after the first block",
    );
    expect(crossingText({ rule: "one", before_s: 0.4 })).toBe("crosses one at the first block");
    const [untimed] = crossings(client({ first: null }), rules, 0);
    expect(crossingText(untimed!)).toBe("crosses one");
  });
});

describe("a rule in force that is tried", () => {
  const limit = (excess?: [number, number], name: string | null = "one"): BlockRule => ({
    cause: "request_limit",
    name,
    blocks: 3,
    ...(excess && { excess }),
  });
  const of = (...rules: BlockRule[]) => report({ clients: [client({ rules })] });

  it("has the highest burst that all rejections allow", () => {
    const busy = client({ rules: [limit([20.1, 21]), limit([3.2, 9], "two")] });
    const all = report({ clients: [client({ rules: [limit([5.04, 30])] }), busy] });
    const trial = trialOf(limit([20.1, 21]), all);
    expect(trial?.text).toMatch(
      /^# The lowest excess that it rejects is 5\.04, so the burst is 5 /,
    );
    expect(trial?.text).toContain("zone=one:10m rate=1r/s;\nlimit_req zone=one burst=5 nodelay;");
    expect(trialOf(limit([3.2, 9], "two"), all)?.text).toContain("zone=two burst=3 nodelay;");
    // nginx rejects what is over the burst, so a whole excess is over a smaller one.
    const whole = limit([5, 5]);
    expect(trialOf(whole, of(whole))?.text).toContain("zone=one burst=4 nodelay;");
    const least = limit([0.01, 0.5]);
    expect(trialOf(least, of(least))?.text).toMatch(/limit_req zone=one;$/);
    expect(trialOf(limit(), of(limit()))?.text).toMatch(/does not state an excess.*zone=one;$/s);
    const delays: BlockRule = { ...limit([1, 2]), cause: "request_delay" };
    expect(trialOf(limit([5.5, 6]), of(limit([5.5, 6]), delays))?.text).toMatch(/burst=5;$/);
  });

  it("is not made of what no configuration could have, or what the log does not state", () => {
    const one = of(limit());
    for (const name of [null, "a b", "a;b", "one}\nx", "é", "x".repeat(61)]) {
      expect(trialOf(limit([1, 2], name), one)).toBeNull();
    }
    for (const cause of ["scenario", "packet_filter", "access_rule"] as const) {
      expect(trialOf({ ...limit(), cause }, one)).toBeNull();
    }
    const jail: BlockRule = { cause: "jail", name: "nginx-limit-req", blocks: 1 };
    expect(trialOf(jail, one)?.text).toContain("[nginx-limit-req]\nfilter   = nginx-limit-req\n");
  });

  it("is found in a configuration, and in its sentence", () => {
    const [one, dotted] = [trialOf(limit(), of(limit())), trialOf(limit(undefined, "a.b"), of())];
    expect(one?.definition.test("http {\n  limit_req_zone $a zone=one:1m rate=1r/s;")).toBe(true);
    expect(one?.definition.test("  limit_req_zone $a zone=one2:1m rate=1r/s;")).toBe(false);
    expect(one?.definition.test("# limit_req_zone $a zone=one:1m rate=1r/s;")).toBe(false);
    expect(dotted?.definition.test("limit_req_zone $a zone=axb:1m rate=1r/s;")).toBe(false);
    const sentence =
      ' was rejected twice by zone "one" (excess 5.0); in the 10 min GET /zone "a.b"';
    const shown = sentenceParts(sentence, [dotted!, one!]);
    expect(shown).toEqual([
      " was rejected twice by ",
      one,
      ' (excess 5.0); in the 10 min GET /zone "a.b"',
    ]);
  });

  it("has an address that looks like someone", () => {
    const before = {
      requests: 9,
      statuses: [],
      target: { value: "POST /login", requests: 4 },
      user_agent: { value: "curl/8", requests: 9 },
    };
    const crawler = {
      client: "192.0.2.1",
      looks: "crawler" as const,
      good: ["search_crawler" as const, "named_network" as const],
      agent: "Googlebot",
      first_path: "/robots.txt",
      requests: 1200,
      errors: 60,
    };
    expect(looksText(client({ before, profile: crawler }))).toBe(
      "Looks like: crawler (claimed), in a network that you named; Googlebot; 1,200 requests in all, " +
        "5.0% with errors, the first for /robots.txt; before the first block most often POST /login (4 of 9).",
    );
    const person = { client: "192.0.2.1", looks: "person" as const, requests: 1, errors: 0 };
    expect(looksText(client({ profile: person }))).toBe(
      "Looks like: person; 1 request in all, none with errors.",
    );
    expect(looksText(client())).toBe("");
  });
});
