/** What each measure is in a report, in a row of a list, and for the server. */

import { bytes } from "../format/bytes";
import { duration } from "../format/duration";
import { wordsOf } from "../format/kind";
import { count } from "../format/number";
import type { GroupRow } from "../generated/GroupRow";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import { MEASURES, type Measure } from "../state/measure";

export type Duration = keyof typeof DURATION_TITLES;

/** The duration whose percentiles are shown: the first that the records have. */
export function durationOf(report: Report): Duration | null {
  const fields = Object.keys(DURATION_TITLES) as Duration[];
  return fields.find((field) => report[field] !== undefined && report[field] !== null) ?? null;
}

/** The name of its 95th percentile on the server. */
export function percentileOf(field: Duration): string {
  return `p95:${field}`;
}

/** Whether the records of a report have what a measure needs. */
export function hasMeasure(report: Report, measure: Measure): boolean {
  switch (measure) {
    case "requests":
      return true;
    case "errors":
      return !report.absent.includes("errors");
    case "bytes":
      return !report.absent.includes("bytes_sent");
    case "time":
      return durationOf(report) !== null;
  }
}

/** The measure on the screen: the chosen one, if the records have it. */
export function shownMeasure(report: Report, chosen: Measure): Measure {
  return (
    MEASURES.find((measure) => measure === chosen && hasMeasure(report, measure)) ?? "requests"
  );
}

/** The name of a measure above a column. */
export function headOf(report: Report, measure: Measure): string {
  const names = { errors: "Errors", bytes: "Bytes", time: "p95" };
  return measure === "requests" ? wordsOf(report).title : names[measure];
}

/** The name of a measure on the server. */
export function serverName(report: Report, measure: Measure): string {
  const field = durationOf(report);
  return measure === "time" && field !== null ? percentileOf(field) : measure;
}

interface Sums extends Pick<GroupRow, "count" | "errors" | "bytes_sent"> {
  measures?: GroupRow["measures"] | undefined;
}

/** The value of a measure: a number, bytes or seconds; `null` if no record has the number. */
export function numberOf(sums: Sums, measure: Measure, report: Report): number | null {
  switch (measure) {
    case "requests":
      return sums.count;
    case "errors":
      return sums.errors;
    case "bytes":
      return sums.bytes_sent;
    case "time":
      return timeOf(sums, report);
  }
}

/** The 95th percentile of the duration, in seconds; `undefined` if it was not asked for. */
export function timeOf({ measures }: Sums, report: Report): number | null {
  const field = durationOf(report);
  const value = field === null ? null : measures?.[percentileOf(field)];
  return typeof value === "number" ? value : null;
}

/** A value of a measure as text. */
export function textOf(value: number | null, measure: Measure): string {
  if (value === null) return "–";
  if (measure === "bytes") return bytes(value);
  return measure === "time" ? duration(value) : count(value);
}

/** The sum of a measure over all records, of which values have shares; `null` for a percentile. */
export function totalOf(
  sums: { matching: number; errors: number; bytes_sent: number },
  measure: Measure,
): number | null {
  switch (measure) {
    case "requests":
      return sums.matching;
    case "errors":
      return sums.errors;
    case "bytes":
      return sums.bytes_sent;
    case "time":
      return null;
  }
}
