import { describe, expect, it } from "vitest";
import {
  commonNoun,
  kindChoices,
  missingFieldsText,
  missingStackText,
  recordsOfKind,
  wordsOf,
} from "../src/format/kind";
import type { Histogram } from "../src/generated/Histogram";
import type { Report } from "../src/generated/Report";

const REQUESTS = { kind: "request", records: 11_178 } as const;
const LINES = { kind: "error_log_line", records: 2_258 } as const;

function reportOf(over: Partial<Report>): Report {
  return { kind: "request", kinds: [REQUESTS, LINES], matching: 0, ...over } as unknown as Report;
}

function histogramOf(field: string, groups: string[]): Histogram {
  return { step_s: 60, field, groups, until: "", buckets: [] };
}

describe("a report about one kind of records", () => {
  it("counts the records of that kind only", () => {
    expect(recordsOfKind(reportOf({}))).toBe(11_178);
    expect(recordsOfKind(reportOf({ kind: "error_log_line" }))).toBe(2_258);
    expect(recordsOfKind(reportOf({ kind: "firewall_event" }))).toBe(0);
  });

  it("uses the words of that kind, and a common one for all kinds", () => {
    expect(wordsOf(reportOf({ kind: "error_log_line" })).many).toBe("error-log lines");
    expect(commonNoun(reportOf({})).many).toBe("records");
    expect(commonNoun(reportOf({ kinds: [LINES] })).many).toBe("error-log lines");
    expect(commonNoun(reportOf({ kinds: [] })).many).toBe("requests");
  });
});

describe("the choice between kinds", () => {
  it("exists only if there are several", () => {
    expect(kindChoices(reportOf({ kinds: [] }))).toEqual([]);
    expect(kindChoices(reportOf({ kinds: [REQUESTS] }))).toEqual([]);
    expect(kindChoices(reportOf({}))).toEqual([REQUESTS, LINES]);
  });

  it("leads back from a kind without records", () => {
    const none = { kind: "firewall_event", records: 0 };
    expect(kindChoices(reportOf({ kind: "firewall_event", kinds: [REQUESTS] }))).toEqual([
      REQUESTS,
      none,
    ]);
  });
});

describe("fields that the kind lacks", () => {
  it("are named if they are in the filter", () => {
    expect(missingFieldsText(reportOf({}))).toBeNull();
    expect(missingFieldsText(reportOf({ missing_fields: [] }))).toBeNull();
    expect(
      missingFieldsText(reportOf({ kind: "error_log_line", missing_fields: ["status"] })),
    ).toBe("Error-log lines have no status: 0 of 2,258 match.");
    // Records without a field match a negative condition on it.
    const missing_fields = ["status", "user_agent"];
    expect(
      missingFieldsText(reportOf({ kind: "error_log_line", matching: 2_258, missing_fields })),
    ).toBe("Error-log lines have no status or user agent: 2,258 of 2,258 match.");
  });

  it("are named if the bars were to be stacked by them", () => {
    const text = (field: string, groups: string[]) =>
      missingStackText(reportOf({ kind: "error_log_line", histogram: histogramOf(field, groups) }));
    expect(text("method", ["(none)"])).toBe(
      "None of these error-log lines has the field method, so the bars are not stacked.",
    );
    expect(text("method", ["(none)", "GET"])).toBeNull();
    expect(text("level", ["(none)"])).toBeNull();
    expect(missingStackText(reportOf({ histogram: null }))).toBeNull();
  });
});
