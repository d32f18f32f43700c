import { describe, expect, it } from "vitest";
import type { Source } from "../src/generated/Source";
import { fingerprintOf } from "../src/upload/fingerprint";
import { recognise } from "../src/upload/recognise";

const source = (over: Partial<Source>): Source =>
  ({
    number: 3,
    file: "f",
    name: "a.log",
    bytes_total: 10,
    fingerprint: "abc",
    state: "done",
    ...over,
  }) as Source;

const known = { name: "a.log", size: 10, fingerprint: "abc" };
const none = new Set<string>();

describe("fingerprints", () => {
  const of = (text: string) => fingerprintOf(new Blob([text]));

  it("depend on both ends of a file", async () => {
    const middle = "x".repeat(20_000);
    const one = await of(`a${middle}b`);
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect(await of(`a${middle}b`)).toBe(one);
    expect(await of(`b${middle}b`)).not.toBe(one);
    expect(await of(`a${middle}c`)).not.toBe(one);
    expect(await of("")).toMatch(/^[0-9a-f]{16}$/);
  });

  it("are missing for a file that cannot be read", async () => {
    const slice = () => ({ arrayBuffer: () => Promise.reject(new Error("it is gone")) });
    const gone = { size: 1, slice };
    expect(await fingerprintOf(gone as unknown as Blob)).toBeNull();
  });
});

describe("a file that is added", () => {
  it("is new unless name, size and bytes are the same", () => {
    expect(recognise(known, [source({})], none)).toEqual({ type: "same", number: 3 });
    for (const other of [{ name: "b.log" }, { bytes_total: 11 }, { fingerprint: "xyz" }]) {
      expect(recognise(known, [source(other)], none)).toEqual({ type: "new" });
    }
    expect(recognise(known, [], none)).toEqual({ type: "new" });
  });

  it("is the same as a source without a fingerprint by its name and size", () => {
    const named = source({ file: "", fingerprint: null });
    expect(recognise(known, [named], none)).toEqual({ type: "same", number: 3 });
  });

  it("goes on with an upload that broke off, unless this page goes on itself", () => {
    const broken = source({ state: "interrupted" });
    const sources = [source({ number: 1, file: "e" }), broken];
    expect(recognise(known, sources, none)).toEqual({ type: "resume", file: "f" });
    expect(recognise(known, [broken], new Set(["f"]))).toEqual({ type: "same", number: 3 });
    const unknown = source({ state: "interrupted", fingerprint: null });
    expect(recognise(known, [unknown], none)).toEqual({ type: "same", number: 3 });
  });
});
