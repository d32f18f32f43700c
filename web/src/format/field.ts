/** Names and order of the fields on the page. */

import { LIST_TITLES, STATUS_CLASS } from "../generated/words";

/** Labels of the fields of any log whose name cannot be used in a sentence. */
const LABELS: Record<string, string> = {
  [STATUS_CLASS]: "status class",
  user_agent: "user agent",
  request: "malformed request",
  request_time: "request time",
  upstream_time: "upstream time",
  upstream_connect_time: "upstream connect time",
  upstream_header_time: "upstream header time",
  wait_time: "wait time",
  body_time: "body time",
};

/**
 * The lists of each column, by the number of columns that fit: the client, the target, the result.
 * The columns are fixed, so that no list jumps when a filter shortens others. Fields that are not
 * named here are added to the shortest column.
 */
const COLUMNS = [
  [
    [
      "client",
      "path",
      "status",
      "method",
      "host",
      "user_agent",
      "referer",
      "query",
      "protocol",
      "user",
      "request",
    ],
  ],
  [
    ["client", "status", "method", "protocol", "host", "user"],
    ["path", "user_agent", "referer", "query", "request"],
  ],
  [
    ["client", "referer", "user"],
    ["path", "user_agent", "query", "request"],
    ["status", "method", "host", "protocol"],
  ],
  [
    ["client", "host", "user"],
    ["path", "query"],
    ["user_agent", "referer", "request"],
    ["status", "method", "protocol"],
  ],
];

/** Maximum number of columns. */
export const COLUMNS_MAX = COLUMNS.length;

/** The title of a field's list. A field that only this log has keeps its name, as in a filter. */
export function fieldTitle(field: string): string {
  return LIST_TITLES[field] ?? field;
}

/** The field's name in a sentence or on a chip. */
export function fieldLabel(field: string): string {
  return LABELS[field] ?? field;
}

/** Returns the number of columns for these fields, so that no column is empty. */
export function columnCount(
  fields: string[],
  room: number,
  leading: readonly string[] = [],
): number {
  for (let count = Math.min(room, COLUMNS_MAX); count > 1; count -= 1) {
    if (fieldColumns(fields, count, leading).every((column) => column.length > 0)) return count;
  }
  return 1;
}

/**
 * Arranges the fields in `count` columns, each from top to bottom. The leading fields are at the
 * top, from left to right.
 */
export function fieldColumns(
  fields: string[],
  count: number,
  leading: readonly string[] = [],
): string[][] {
  const columns = (COLUMNS[count - 1] ?? COLUMNS[0]!).map((column, at) => [
    ...leading.filter((_, index) => index % count === at),
    ...column.filter((field) => !leading.includes(field)),
  ]);
  const placed = new Set(columns.flat());
  const others = fields.filter((field) => !placed.has(field)).sort();
  const placedFields = columns.map((column) => column.filter((field) => fields.includes(field)));
  for (const field of others) {
    const shortest = placedFields.reduce((least, column) =>
      column.length < least.length ? column : least,
    );
    shortest.push(field);
  }
  return placedFields;
}
