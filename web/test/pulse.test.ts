import { describe, expect, it } from "vitest";
import { Pulse } from "../src/live/pulse";

const source = (lines: number, over = {}) => ({
  number: 0,
  name: "a.log",
  isOpen: true,
  lines,
  ...over,
});

describe("the pulse of a live feed", () => {
  it("is the rate of the last seconds, which falls while nothing comes", () => {
    const pulse = new Pulse();
    expect(pulse.perSecond(0)).toBe(0);
    for (let second = 0; second <= 30; second += 1)
      pulse.note(1000 * second, [source(50 * second)]);
    expect(pulse.perSecond(30_000)).toBe(50);
    expect(pulse.perSecond(35_000)).toBeCloseTo((50 * 5) / 10, 6);
    expect(pulse.perSecond(60_000)).toBe(0);
    // A source that was removed takes its lines with it, and no rate is negative.
    pulse.note(61_000, [source(0, { number: 1 })]);
    expect(pulse.perSecond(62_000)).toBe(0);
  });

  it("knows a source that has fallen silent", () => {
    const pulse = new Pulse();
    for (let second = 0; second <= 20; second += 1) {
      pulse.note(1000 * second, [
        source(second),
        source(7, { number: 1, name: "never.log" }),
        source(second, { number: 2, name: "ended.log", isOpen: second < 20 }),
      ]);
    }
    expect(pulse.silent(20_000 + 59_000)).toEqual([]);
    expect(pulse.silent(20_000 + 61_000)).toEqual([{ name: "a.log", seconds: 61 }]);
    pulse.note(100_000, [source(21)]);
    expect(pulse.silent(101_000)).toEqual([]);
  });

  it("waits longer for a source that writes seldom", () => {
    const pulse = new Pulse();
    for (let minute = 0; minute <= 10; minute += 1) pulse.note(60_000 * minute, [source(minute)]);
    expect(pulse.silent(600_000 + 19 * 60_000)).toEqual([]);
    expect(pulse.silent(600_000 + 21 * 60_000)).toHaveLength(1);
  });
});
