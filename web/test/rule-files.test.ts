import { describe, expect, it } from "vitest";
import { filesTogether, ruleOfFiles, ruleTextOf } from "../src/rules/files";

const JAIL = { name: "jail.local", text: "[DEFAULT]\nmaxretry = 3\n[web]\nfilter = web\n" };
const FILTER = { name: "web.conf", text: "[Definition]\nfailregex = ^<HOST> 404\n" };
const OTHER = { name: "other.conf", text: "[Definition]\nfailregex = ^<HOST> 403\n" };

describe("files that are dropped on the rule box", () => {
  it("are a rule and the filters beside it, in any order", () => {
    for (const dropped of [
      [JAIL, FILTER],
      [FILTER, JAIL],
    ]) {
      expect(ruleOfFiles(dropped, "before")).toEqual({ text: JAIL.text, files: [FILTER] });
    }
  });

  it("are filters of the rule that is there, if there is no other", () => {
    expect(ruleOfFiles([FILTER], JAIL.text)).toEqual({ text: JAIL.text, files: [FILTER] });
    expect(ruleOfFiles([FILTER, OTHER], null)).toEqual({ text: FILTER.text, files: [OTHER] });
  });

  it("replace those of the same name", () => {
    const newer = { ...FILTER, text: "[Definition]\n" };
    expect(filesTogether([FILTER, OTHER], [newer])).toEqual([OTHER, newer]);
  });

  it("are sent with the rule", () => {
    expect(ruleTextOf("a", [])).toEqual({ text: "a" });
    expect(ruleTextOf("a", [FILTER])).toEqual({ text: "a", files: [FILTER] });
  });
});
