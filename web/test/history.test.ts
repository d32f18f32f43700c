import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  currentQuestion,
  depth,
  noteRules,
  pushQuestion,
  rulesOfAddress,
} from "../src/control/history";
import { refusalOfLength } from "../src/control/live";
import { DEFAULT_QUESTION, type Question } from "../src/state/state";

const withPath = (path: string): Question => ({
  ...DEFAULT_QUESTION,
  clauses: [{ field: "path", op: "=", values: [path] }],
  conditions: ["status=4xx or googlebot"],
});

describe("the history of the browser", () => {
  beforeEach(() => {
    const history = {
      state: null as unknown,
      pushState(state: unknown, _title: string, address: string) {
        history.state = state;
        vi.stubGlobal("location", new URL(address, "http://localhost/"));
      },
      replaceState(state: unknown, _title: string, address: string) {
        history.pushState(state, _title, address);
      },
    };
    vi.stubGlobal("history", history);
    vi.stubGlobal("location", new URL("http://localhost/"));
  });

  it("keeps a question in the address", () => {
    pushQuestion("ab", withPath("/a"), 3);
    expect(location.search).toContain("f=path~eq~%2Fa");
    expect([currentQuestion(), depth()]).toEqual([withPath("/a"), 3]);
  });

  it("keeps two rules in the address, without what is too long", () => {
    const [rule, other] = ["limit a=1;\n# 5% & more", "limit ü;"];
    noteRules({ rule, other });
    expect(location.hash).toMatch(/^#rule=[^&]*&other=[^&]*$/);
    expect(rulesOfAddress()).toEqual({ rule, other });
    noteRules({ rule: "", other });
    expect(rulesOfAddress()).toEqual({ rule: "", other });
    noteRules({ rule, other: "x".repeat(9_000) });
    expect(rulesOfAddress()).toEqual({ rule, other: "" });
    noteRules({ rule: "", other: "" });
    expect(location.hash).toBe("");
    vi.stubGlobal("location", new URL("http://localhost/#rule=%zz&other=a%3Db"));
    expect(rulesOfAddress()).toEqual({ rule: "", other: "a=b" });
  });

  it("keeps a filter out of the address that is too long for it", () => {
    const long = withPath(`/${"ü".repeat(10_000)}`);
    pushQuestion("ab", long, 1);
    expect(location.pathname + location.search).toBe("/s/ab");
    expect([currentQuestion(), depth()]).toEqual([long, 1]);
  });
});

describe("a question that the server would not read", () => {
  it("is refused with a sentence", () => {
    expect(refusalOfLength(withPath("/a"))).toBeNull();
    expect(refusalOfLength(withPath("ü".repeat(29_000)))).toBeNull();
    expect(refusalOfLength(withPath("ü".repeat(50_000)))).toMatch(
      /^This filter is too long: it has 100 kB, and a filter can have 61\.4 kB\./,
    );
  });
});
