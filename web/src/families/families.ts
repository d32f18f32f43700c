/** Which list is in which card. */

import { wordsOf } from "../format/kind";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";

/** The question that the lists of a card answer. */
export type FamilyName = "who" | "what" | "how" | "with" | "from" | "when" | "others";

/** The lists of a card, by their fields. */
export interface Family {
  name: FamilyName;
  title: string;
  fields: string[];
}

/** The cards in their order, with the lists that they have if the log has the fields. */
const FAMILIES: readonly { name: FamilyName; title: string; fields: readonly string[] }[] = [
  {
    name: "who",
    title: "Who",
    fields: ["client", "network", "country", "city", "asn_name", "user"],
  },
  {
    name: "what",
    title: "What",
    fields: ["message", "path", "path/1", "host", "extension", "query"],
  },
  {
    name: "how",
    title: "How it went",
    fields: ["status", "level", "action", "method", "protocol", "request"],
  },
  {
    name: "with",
    title: "With",
    fields: ["agent_family", "crawler", "crawler_kind", "system", "device", "user_agent"],
  },
  {
    name: "from",
    title: "From",
    fields: ["referer_host", "referer_kind", "campaign", "referer"],
  },
  { name: "when", title: "When", fields: ["hour", "weekday", "date"] },
];

/** The lists whose rows are in the order of their values. */
const IN_ORDER = new Set(["hour", "weekday", "date"]);

/** Whether the rows of a list are in the order of their values, not of their numbers. */
export function isInOrder(field: string): boolean {
  return IN_ORDER.has(field);
}

/**
 * The cards of a log with these fields. Fields that are not named here share the last card; but those
 * that lead a kind of records say what happened.
 */
export function familiesOf(fields: readonly string[], leading: readonly string[] = []): Family[] {
  const known = new Set(FAMILIES.flatMap((family) => family.fields));
  const unnamed = leading.filter((field) => !known.has(field));
  const named = FAMILIES.map(({ name, title, fields: own }) => {
    const first = own.filter((field) => leading.includes(field));
    const all = name === "what" ? [...first, ...unnamed, ...own] : own;
    return { name, title, fields: [...new Set(all)].filter((field) => fields.includes(field)) };
  });
  for (const field of unnamed) known.add(field);
  const others = fields.filter((field) => !known.has(field)).sort();
  const all: Family[] = [...named, { name: "others", title: "Other fields", fields: others }];
  return all.filter((family) => family.fields.length > 0);
}

/** What is known of the fields of a log when nothing is filtered. */
export interface KnownFields {
  /** The fields with a list. */
  listed: readonly string[];
  /** The fields that have the same value in every record. */
  single: readonly string[];
}

/** The fields of a report about all records, without those that have no value to show. */
export function knownFields(report: Report): KnownFields {
  const fields = fieldsWithValues(report);
  const { leading_fields } = wordsOf(report);
  const isSingle = (field: string) => {
    const rows = report.top[field]!;
    const isLeading = leading_fields.includes(field);
    return !isLeading && rows.length === 1 && rows[0]!.count === report.matching;
  };
  const single = fields.filter(isSingle);
  return { listed: fields.filter((field) => !single.includes(field)), single };
}

/** The fields of a report with something to show. */
export function fieldsWithValues({ top }: Report): string[] {
  return Object.keys(top).filter((field) => !isEmptyList(top[field]!));
}

/** Whether a list has nothing to show: no value, or only one that stands for a missing value. */
function isEmptyList(rows: readonly TopRow[]): boolean {
  return rows.length < 2 && rows.every((row) => ["-", ""].includes(row.value) && !row.remainder);
}

/** The rows in the order of their values, those without one last. */
export function inOrder<Row extends TopRow>(rows: readonly Row[]): Row[] {
  const rank = (row: Row) => (row.absent || row.remainder ? 1 : 0);
  return [...rows].sort((a, b) => rank(a) - rank(b) || (a.value < b.value ? -1 : 1));
}
