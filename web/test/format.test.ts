import { describe, expect, it } from "vitest";
import { bytes } from "../src/format/bytes";
import { duration, perStep, span, step } from "../src/format/duration";
import { fieldTitle } from "../src/format/field";
import { FORMAT_NOTES } from "../src/format/formats";
import { hexOf, textOfHex } from "../src/format/hex";
import { compact, count, frequency, lowerBound, plural, share } from "../src/format/number";
import { nameParts, parts, TEXT_MAX, visible, withEdges } from "../src/format/text";
import {
  instantSeconds,
  parseStamp,
  rangeText,
  stampText,
  timeTexts,
  wallSeconds,
} from "../src/format/time";
import { windowText } from "../src/format/window";
import { FORMATS, WRAPPERS } from "../src/generated/words";

describe("the step of a histogram", () => {
  it("names calendar months and years", () => {
    expect(step(2_592_000)).toBe("1 month");
    expect(perStep(31_536_000)).toBe("year");
    expect(perStep(10 * 31_536_000)).toBe("10 years");
    expect(perStep(28 * 86_400)).toBe("4 weeks");
  });
});

describe("the ends of a value", () => {
  it("show their spaces", () => {
    const text = (value: string) =>
      withEdges(parts(value))
        .map((part) => (part.isEscape ? `[${part.text}]` : part.text))
        .join("");
    expect(text("  a b ")).toBe("[\\x20\\x20]a b[\\x20]");
    expect(text(" ")).toBe("[\\x20]");
    expect(text("a\nb ")).toBe("a[\\n]b[\\x20]");
    expect(text("a b")).toBe("a b");
  });
});

describe("the parts of a name", () => {
  it("are two if the name is long, and keep every character", () => {
    const split = (name: string) => Object.values(nameParts(name));
    expect(split("/var/log/access.log")).toEqual(["", "/var/log/access.log"]);
    expect(split("/var/log/nginx/a/error.log")).toEqual(["/var/log", "/nginx/a/error.log"]);
    expect(split(`${"a".repeat(23)}😀`)).toEqual(["aaaaaa", `${"a".repeat(17)}😀`]);
    expect(split("")).toEqual(["", ""]);
  });
});

describe("what a window keeps", () => {
  it("is said with the width that was asked for", () => {
    const requests = { one: "request", many: "requests" };
    const records = { one: "record", many: "records" };
    expect(windowText({ width_s: 3600, records: 3_000 }, 40_000, requests)).toBe(
      "Kept: the last 1\u00a0h, 3,000 of 40,000 requests",
    );
    expect(windowText({ width_s: 5400, records: 7 }, 7, records)).toBe(
      "Kept: the last 90\u00a0min, all 7 records",
    );
    expect(windowText({ width_s: null, records: 1 }, 2, requests)).toBe("Kept: 1 of 2 requests");
    expect(windowText({ width_s: null, records: 1 }, 1, requests)).toBe("Kept: all 1 request");
    const complete_since = "2025-10-09T04:33:19.25+02:00";
    expect(windowText({ width_s: 3600, records: 7, complete_since }, 7, records)).toBe(
      "Kept: the last 1\u00a0h, all 7 records, complete since 2025-10-09 04:33:19",
    );
  });
});

describe("numbers", () => {
  it("groups thousands", () => {
    expect(count(1234567)).toBe("1,234,567");
    expect([lowerBound("9", true), lowerBound("9", false)]).toEqual(["≥9", "9"]);
    expect(plural(1, "line")).toBe("1 line");
    expect(plural(0, "line")).toBe("0 lines");
  });

  it("shortens for an axis", () => {
    expect([0, 950, 1000, 1500, 2e6, 1.25e9].map(compact)).toEqual([
      "0",
      "950",
      "1k",
      "1.5k",
      "2M",
      "1.25G",
    ]);
  });

  it("never rounds a part to nothing or to the whole", () => {
    expect(share(0, 10)).toBe("0%");
    expect(share(1, 1_000_000)).toBe("<0.1%");
    expect(share(7, 10_000)).toBe("0.1%");
    expect(share(999_999, 1_000_000)).toBe(">99.9%");
    expect(share(10, 10)).toBe("100%");
    expect(share(1, 3)).toBe("33.3%");
    expect(share(0, 0)).toBe("–");
  });

  it("names a frequency by the unit in which something happens", () => {
    expect(frequency(1234.5)).toBe("1,235 per second");
    expect(frequency(2.34)).toBe("2.3 per second");
    expect(frequency(0.5)).toBe("30 per minute");
    expect(frequency(0.001)).toBe("3.6 per hour");
  });

  it("shows sizes with three figures that count", () => {
    expect([0, 999, 1000, 9994, 9995, 99_950, 999_500, 1.15e9].map(bytes)).toEqual([
      "0 B",
      "999 B",
      "1.00 kB",
      "9.99 kB",
      "10.0 kB",
      "100 kB",
      "1.00 MB",
      "1.15 GB",
    ]);
    expect(bytes(2 ** 64)).toBe("≥ 18447 PB");
  });
});

describe("durations", () => {
  it("have three digits, and two units above a minute", () => {
    expect([0, 0.00034, 0.0045, 0.012, 0.9999, 1.25, 59.94, 65].map(duration)).toEqual([
      "0 s",
      "340 µs",
      "4.50 ms",
      "12.0 ms",
      "1.00 s",
      "1.25 s",
      "59.9 s",
      "1 min 5 s",
    ]);
  });

  it("of ranges have two units, and steps have names", () => {
    expect([0, 59, 3600, 90_061].map(span)).toEqual(["0 s", "59 s", "1 h", "1 day 1 h"]);
    expect([1, 300, 86_400, 604_800, 28 * 86_400].map(step)).toEqual([
      "1 second",
      "5 minutes",
      "1 day",
      "1 week",
      "4 weeks",
    ]);
    expect([1, 300, 86_400].map(perStep)).toEqual(["second", "5 minutes", "day"]);
  });
});

describe("time stamps", () => {
  it("reads the wall clock and the instant apart", () => {
    const stamp = parseStamp("2024-05-12T10:00:00.25+02:00")!;
    expect(wallSeconds(stamp)).toBe(Date.UTC(2024, 4, 12, 10) / 1000);
    expect(instantSeconds(stamp)).toBe(Date.UTC(2024, 4, 12, 8) / 1000 + 0.25);
    expect(instantSeconds(parseStamp("2024-01-01T00:00:00-03:30")!)).toBe(
      Date.UTC(2024, 0, 1, 3, 30) / 1000,
    );
  });

  it("names the ends of a range as exactly as its length asks for", () => {
    const texts = (first: string, last: string) => {
      const { name, ends } = timeTexts(parseStamp(first)!, parseStamp(last)!);
      return [name, ...ends];
    };
    expect(texts("2024-05-12T10:00:03Z", "2024-05-12T10:59:00Z")).toEqual([
      "2024-05-12",
      "10:00:03",
      "10:59:00",
    ]);
    expect(texts("2024-05-12T10:00:03Z", "2024-05-12T20:59:00Z")).toEqual([
      "2024-05-12",
      "10:00",
      "20:59",
    ]);
    // Less than a day, but over midnight.
    expect(texts("2024-11-14T16:00:00Z", "2024-11-15T12:50:00Z")).toEqual([
      "Time, 2024",
      "14 Nov 16:00",
      "15 Nov 12:50",
    ]);
    expect(texts("2024-05-01T10:00:00Z", "2024-05-30T10:00:00Z")).toEqual([
      "Time, 2024",
      "1 May",
      "30 May",
    ]);
    // No year in the name if there are two.
    expect(texts("2015-05-17T10:00:00Z", "2026-01-04T10:00:00Z")).toEqual([
      "Time",
      "2015-05-17",
      "2026-01-04",
    ]);
  });

  it("gives back what is no stamp", () => {
    expect(parseStamp("yesterday")).toBeNull();
    expect(stampText("yesterday")).toBe("yesterday");
  });

  it("names a day once and the zone always", () => {
    expect(rangeText("2024-05-12T10:00:00+02:00", "2024-05-12T10:05:00+02:00")).toBe(
      "2024-05-12 10:00 to 10:05 +02:00",
    );
    expect(rangeText("2024-05-12T23:00:00Z", "2024-05-13T00:00:00Z")).toBe(
      "2024-05-12 23:00 to 2024-05-13 00:00 UTC",
    );
  });

  it("tells the two halves of a doubled hour apart", () => {
    expect(rangeText("2024-10-27T02:30:00+02:00", "2024-10-27T02:00:00+01:00")).toBe(
      "2024-10-27 02:30 +02:00 to 02:00 +01:00",
    );
  });
});

describe("text from the log", () => {
  it("leaves plain text and markup as they are", () => {
    expect(parts("<b>/caf\u00e9</b>")).toEqual([{ text: "<b>/caf\u00e9</b>", isEscape: false }]);
  });

  it("shows what cannot be seen or moves its neighbours", () => {
    expect(visible("a\nb\r\t\u001b[31m\u0000\u009b")).toBe("a\\nb\\r\\t\\x1b[31m\\x00\\x9b");
    for (const code of [
      0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
      0x2028, 0xfeff,
    ]) {
      expect(visible(String.fromCodePoint(code))).toBe(`\\u${code.toString(16).padStart(4, "0")}`);
    }
    expect(visible("\u{e0041}")).toBe("\\u{e0041}");
    expect(visible("\ud800x")).toBe("\\ud800x");
  });

  it("cuts what is endless, never within a character", () => {
    const long = parts("x".repeat(TEXT_MAX + 5));
    expect(long.at(-1)).toEqual({ text: "… 5 more characters", isEscape: true });
    const split = parts(`${"x".repeat(TEXT_MAX - 1)}\u{1f600}`);
    expect(split[0]!.text).toHaveLength(TEXT_MAX - 1);
  });

  it("goes to hexadecimal bytes and back", () => {
    expect(hexOf("é/")).toBe("c3a92f");
    expect(textOfHex("c3a92f")).toBe("é/");
    expect(textOfHex("2fe9")).toBe("/\ufffd");
  });
});

describe("fields", () => {
  it("keeps the names of a log's own fields", () => {
    expect(fieldTitle("user_agent")).toBe("User agents");
    expect(["message", "level", "action"].map(fieldTitle)).toEqual([
      "Messages",
      "Levels",
      "Actions",
    ]);
    expect(fieldTitle("upstream_cache_status")).toBe("upstream_cache_status");
    expect(fieldTitle("cs-bytes")).toBe("cs-bytes");
  });
});

describe("formats", () => {
  it("are all listed once", () => {
    const listed = FORMAT_NOTES.flatMap(([names]) => names);
    expect(listed.sort()).toEqual([...FORMATS, ...WRAPPERS].sort());
  });
});
