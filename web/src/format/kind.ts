/** Kinds of records: requests, error-log lines, firewall events. */

import { KIND_WORDS, type KindWords } from "../generated/kindWords";
import type { RecordKind } from "../generated/RecordKind";
import type { Report } from "../generated/Report";
import type { SelectionCount } from "../generated/SelectionCount";
import { NO_VALUE, STATUS_CLASS } from "../generated/words";
import { fieldLabel } from "./field";
import { count, plural } from "./number";

/** A word for a record, in the singular and in the plural. */
export type Noun = Pick<KindWords, "one" | "many">;

/** The words for records of any kind. */
export const RECORD: Noun = { one: "record", many: "records" };

/** The kind of that name; `null` if there is none. */
export function kindNamed(name: string | null): RecordKind | null {
  return name !== null && Object.hasOwn(KIND_WORDS, name) ? (name as RecordKind) : null;
}

/** The words for the records that a report is about. */
export function wordsOf({ kind }: Report): KindWords {
  return KIND_WORDS[kind];
}

/** The word for the records of all kinds in a data set. */
export function commonNoun({ kinds, kind }: Report): Noun {
  return kinds.length > 1 ? RECORD : KIND_WORDS[kinds[0]?.kind ?? kind];
}

/** The number of records of the report's kind, whether or not they match the filter. */
export function recordsOfKind({ kind, kinds }: Report): number {
  return kinds.find((other) => other.kind === kind)?.records ?? 0;
}

/** How many records a filter would select: `1,234 of 56,789 requests`. */
export function selectionText({ kind, matching, records, estimated }: SelectionCount): string {
  const { one, many } = KIND_WORDS[kind];
  return `${estimated ? "about " : ""}${count(matching)} of ${plural(records, one, many)}`;
}

/** The field that the default stack stands for. */
export function defaultStack({ kind }: Report): string {
  return KIND_WORDS[kind].stack;
}

/** The choices between kinds: those of the data set, and that of the report. Empty if only one. */
export function kindChoices({ kind, kinds }: Report): { kind: RecordKind; records: number }[] {
  const hasRecords = kinds.some((other) => other.kind === kind);
  const choices = hasRecords ? kinds : [...kinds, { kind, records: 0 }];
  return choices.length > 1 ? choices : [];
}

/** The firewall events of a report about requests, which can be laid over these. */
export function firewallEvents({ kind, kinds }: Report): number {
  if (kind !== "request") return 0;
  return kinds.find((other) => other.kind === "firewall_event")?.records ?? 0;
}

/** The word for the records laid over the requests, given the numbers of events and of blocks. */
export function overlayNoun(events: number, blocks: number): Noun {
  if (events === 0) return { one: "block", many: "blocks" };
  if (blocks === 0) return KIND_WORDS.firewall_event;
  return { one: "block or firewall event", many: "blocks and firewall events" };
}

/** Names the fields of the filter that no record of the kind has; `null` if there is none. */
export function missingFieldsText(report: Report): string | null {
  const { missing_fields = [], matching } = report;
  if (missing_fields.length === 0) return null;
  const { title } = wordsOf(report);
  const fields = missing_fields.map(fieldLabel).join(" or ");
  return `${title} have no ${fields}: ${count(matching)} of ${count(recordsOfKind(report))} match.`;
}

/** States that no record on the screen has the field of the stack; `null` if one has. */
export function missingStackText({ histogram, kind }: Report): string | null {
  if (!histogram || histogram.field === STATUS_CLASS) return null;
  if (histogram.groups.some((group) => group !== NO_VALUE)) return null;
  if (histogram.field === KIND_WORDS[kind].stack) return null;
  return `None of these ${KIND_WORDS[kind].many} has the field ${fieldLabel(histogram.field)}, so the bars are not stacked.`;
}
