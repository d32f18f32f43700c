/** What each measure is in a report, in a row of a list, and for the server. */

import { bytes } from "../format/bytes";
import { duration } from "../format/duration";
import { wordsOf } from "../format/kind";
import { count } from "../format/number";
import type { GroupRow } from "../generated/GroupRow";
import type { Report } from "../generated/Report";
import { DURATION_TITLES } from "../generated/words";
import { type Duration, MEASURES, type Measure } from "../state/measure";
import type { Question } from "../state/state";

/** The durations that the records have, in the order of their titles. */
export function durationsOf(report: Report): Duration[] {
  const fields = Object.keys(DURATION_TITLES) as Duration[];
  return fields.filter((field) => report[field] !== undefined && report[field] !== null);
}

/** The duration whose percentiles are shown: the chosen one, or the first that the records have. */
export function durationOf(
  report: Report,
  { duration }: Pick<Question, "duration">,
): Duration | null {
  const fields = durationsOf(report);
  return fields.find((field) => field === duration) ?? fields[0] ?? null;
}

/** How the name of a 95th percentile on the server begins, before that of the duration. */
const P95 = "p95:";

/** The name of its 95th percentile on the server. */
export function percentileOf(field: Duration): string {
  return `${P95}${field}`;
}

/** The name of its median on the server. */
export function medianOf(field: Duration): string {
  return `p50:${field}`;
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
      return durationsOf(report).length > 0;
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
export function serverName(report: Report, measure: Measure, question: Question): string {
  const field = durationOf(report, question);
  return measure === "time" && field !== null ? percentileOf(field) : measure;
}

interface Sums extends Pick<GroupRow, "count" | "errors" | "bytes_sent"> {
  measures?: GroupRow["measures"] | undefined;
}

/** The value of a measure: a number, bytes or seconds; `null` if no record has the number. */
export function numberOf(sums: Sums, measure: Measure): number | null {
  switch (measure) {
    case "requests":
      return sums.count;
    case "errors":
      return sums.errors;
    case "bytes":
      return sums.bytes_sent;
    case "time":
      return timeOf(sums);
  }
}

/** The 95th percentile, in seconds, of the duration that was asked for; `null` if none was. */
export function timeOf({ measures = {} }: Sums): number | null {
  const name = Object.keys(measures).find((name) => name.startsWith(P95));
  const value = name === undefined ? null : measures[name];
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
