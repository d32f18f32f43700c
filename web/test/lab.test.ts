import { describe, expect, it } from "vitest";
import type { Collateral } from "../src/generated/Collateral";
import type { LimitGrid } from "../src/generated/LimitGrid";
import type { RuleAnswer } from "../src/generated/RuleAnswer";
import { collateralText } from "../src/rules/good";
import { cellAfter, cellText, shareOf, suggestionText } from "../src/rules/grid";
import { peaksAbove, withRate } from "../src/rules/limit";
import { networksOf } from "../src/rules/networks";
import { comparedRequests } from "../src/rules/words";

const NOUN = { one: "client", many: "clients" };

const grid: LimitGrid = {
  rates: [
    { setting: "30r/m", per_second: 0.5 },
    { setting: "1r/s", per_second: 1 },
  ],
  bursts: [0, 5, 1000],
  keys: [
    [14, 3, 0],
    [9, 1, 0],
  ],
  requests: [
    [1300, 20, 0],
    [400, 1, 0],
  ],
  own: [0, 1],
  advice: null,
};

describe("other rates and bursts", () => {
  it("are named by their setting", () => {
    expect(cellText(grid, 0, 0, NOUN)).toBe(
      "rate=30r/m burst=0: 14 clients over the limit, 1,300 requests rejected",
    );
    expect(cellText(grid, 1, 1, NOUN)).toBe(
      "rate=1r/s burst=5: 1 client over the limit, 1 request rejected",
    );
  });

  it("are darker the more they catch", () => {
    const shares = [0, 1, 2, 50, 100].map((value) => shareOf(value, 100));
    expect(shares[0]).toBe(0);
    expect(shares[1]).toBeGreaterThan(0.12);
    expect(shares.at(-1)).toBe(1);
    expect([...shares].sort((a, b) => a - b)).toEqual(shares);
  });

  it("are reached by the keyboard, and no further than the edge", () => {
    const path = ["ArrowRight", "End", "ArrowRight", "ArrowDown", "ArrowDown", "Home", "PageUp"];
    let at: [number, number] = [0, 0];
    const places = path.map((key) => {
      at = cellAfter(key, at, grid)!;
      return at.join();
    });
    expect(places).toEqual(["0,1", "0,2", "0,2", "1,2", "1,2", "1,0", "0,0"]);
    expect(cellAfter("x", [0, 0], grid)).toBeNull();
  });

  it("have a suggestion with its reason", () => {
    const gap = { burst: 43, keys: 3, requests: 900, highest_below: 22, lowest_above: 84.25 };
    expect(suggestionText(gap, NOUN)).toBe(
      "it rejects nobody who looks like a person or is good. 3 clients over it have peaks of 84.3 and more, the others of at most 22. It rejects 900 requests.",
    );
    const none = { ...gap, keys: 0, requests: 0, lowest_above: null };
    expect(suggestionText(none, NOUN)).toMatch(/^no setting tells a few clients from the others/);
  });

  it("rewrite the rate of the zone that the limit has", () => {
    const other =
      "limit_req_zone $uri zone=other:1m rate=1r/s;\n# limit_req_zone zone=a rate=9r/s\n";
    for (const [before, after] of [
      ["limit_req_zone $uri zone=a:1m rate=1r/s;", "limit_req_zone $uri zone=a:1m rate=30r/m;"],
      ["limit_req_zone $uri rate=1r/s zone=a:1m;", "limit_req_zone $uri rate=30r/m zone=a:1m;"],
    ]) {
      const limit = "\nlimit_req burst=5 zone=a nodelay;";
      expect(withRate(other + before + limit, "30r/m")).toBe(other + after + limit);
    }
    expect(withRate(other, "30r/m")).toBe(other);
  });
});

describe("good clients", () => {
  const collateral: Collateral = {
    judged: 14,
    good: 3,
    requests: 120,
    reasons: [
      { reason: "signed_in", keys: 1 },
      { reason: "search_crawler", keys: 2 },
    ],
    clients: [],
    peaks: [30, 12, 12, 4],
    is_incomplete: false,
  };
  const answer = {
    rule: { keys: { seen: 9, tripped: 0, undecided: 0 } },
    curve: {
      rate: 1,
      burst: 5,
      peaks: [40, 30, 12, 12, 4],
      points: [
        { burst: 5, keys: 4, requests: 50 },
        { burst: 12, keys: 2, requests: 20 },
        { burst: 35, keys: 1, requests: 3 },
      ],
    },
  } as RuleAnswer;

  it("are counted with their reasons", () => {
    expect(collateralText(answer, collateral, null)).toBe(
      "It would catch 14 clients, 3 of them good: 1 signed in, 2 claimed search crawlers. Of the good, it rejects 120 requests.",
    );
    const none = { ...collateral, good: 0, reasons: [] };
    expect(collateralText(answer, none, null)).toBe(
      "It would catch 14 clients, none of them known to be good.",
    );
    const nothing = { ...none, judged: 0 };
    expect(collateralText(answer, nothing, null)).toBe("It would catch no client.");
    const open = { ...answer, rule: { keys: { seen: 9, tripped: 0, undecided: 2 } } };
    expect(collateralText(open as RuleAnswer, nothing, null)).toBe(
      "It would catch no client for certain.",
    );
    const estimate = { keys: 0, rejected: 0 };
    const unlikely = { ...open, rule: { ...open.rule, estimate } };
    expect(collateralText(unlikely as RuleAnswer, nothing, null)).toBe(
      "It would likely catch no client.",
    );
  });

  it("follow the limit line", () => {
    for (const burst of [0, 4, 5, 12, 29, 30, 99]) {
      expect(peaksAbove(collateral, burst)).toBe(
        collateral.peaks.filter((peak) => peak > burst).length,
      );
    }
    expect(collateralText(answer, collateral, 12)).toBe(
      "burst=12 would catch about 2 clients, 1 of them good.",
    );
    expect(collateralText(answer, collateral, 35)).toBe(
      "burst=35 would catch about 1 client, none of them known to be good.",
    );
  });

  it("are in networks that are typed", () => {
    expect(networksOf(" 10.0.0.0/8, 192.0.2.1;2001:db8::/32\n::1 ")).toEqual({
      valid: ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::1"],
      wrong: null,
    });
    for (const wrong of [
      "10.0.0.0/33",
      "10.0.0/8",
      "256.1.1.1",
      "01.2.3.4",
      "::1/129",
      "::g",
      "1::2::3",
      "10.0.0.0/8/8",
      "10.0.0.0/",
      "<b>",
    ]) {
      expect(networksOf(`10.0.0.0/8 ${wrong}`)).toEqual({ valid: ["10.0.0.0/8"], wrong });
    }
    expect(networksOf("").valid).toEqual([]);
    expect(networksOf("::1 ".repeat(300)).valid.length).toBe(256);
  });
});

describe("two rules", () => {
  it("are compared in a sentence", () => {
    const side = { rejected: 400, undecided: 0, undecided_keys: 0 };
    const set = { keys: 0, list: [] };
    const sets = { both: set, first_only: set, second_only: set };
    expect(comparedRequests({ first: side, second: { ...side, rejected: 1620 }, ...sets })).toBe(
      "This rule rejects 400 requests, the other 1,620.",
    );
    const open = { ...side, undecided_keys: 2 };
    expect(comparedRequests({ first: open, second: side, ...sets })).toMatch(
      /count as caught if that is likely\.$/,
    );
  });
});
