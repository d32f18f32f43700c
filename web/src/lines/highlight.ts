/** Where the fields of a record are in its line. */

import type { SelectedLine } from "../generated/SelectedLine";

/** The fields that are highlighted. */
export type FieldMark = "client" | "time" | "request" | "status" | "agent";

/** A part of a line; `mark` is `null` between the fields. */
export interface MarkedPart {
  text: string;
  mark: FieldMark | null;
}

interface Span {
  start: number;
  end: number;
  mark: FieldMark;
}

/** Times as logs write them: in square brackets, by RFC 3339, with a slash, or of syslog. */
const TIME =
  /\[\d{1,2}\/\w{3}\/\d{4}[^\]]{0,40}\]|\d{4}[-/]\d\d[-/]\d\d[T\t ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b\w{3} [ \d]\d \d\d:\d\d:\d\d/;

/** Splits a line into its fields and what is between them, in order and without a gap. */
export function markedParts(text: string, line: SelectedLine): MarkedPart[] {
  const found: MarkedPart[] = [];
  let from = 0;
  for (const { start, end, mark } of spansOf(text, line)) {
    if (start < from) continue;
    if (start > from) found.push({ text: text.slice(from, start), mark: null });
    found.push({ text: text.slice(start, end), mark });
    from = end;
  }
  if (from < text.length) found.push({ text: text.slice(from), mark: null });
  return found;
}

function spansOf(text: string, line: SelectedLine): Span[] {
  const spans = [
    literal(text, line.client, "client", 0),
    time(text),
    request(text, line),
    literal(text, line.user_agent, "agent", 0, true),
  ].filter((span) => span !== null);
  const after = spans.find(({ mark }) => mark === "request")?.end ?? 0;
  const status = number(text, line.status, after);
  if (status !== null) spans.push(status);
  return spans.sort((one, other) => one.start - other.start);
}

/** The first place of a value from an offset on, or the last one. */
function literal(
  text: string,
  value: string | undefined,
  mark: FieldMark,
  from: number,
  isLast = false,
): Span | null {
  if (!value || value === "-") return null;
  const start = isLast ? text.lastIndexOf(value) : text.indexOf(value, from);
  return start < 0 ? null : { start, end: start + value.length, mark };
}

function time(text: string): Span | null {
  const match = TIME.exec(text);
  return match && { start: match.index, end: match.index + match[0].length, mark: "time" };
}

/** The method and the path after it, or the path alone. */
function request(text: string, { method, path }: SelectedLine): Span | null {
  if (method && path) {
    const both = literal(text, `${method} ${path}`, "request", 0);
    if (both) return both;
  }
  return path && path.length > 1 ? literal(text, path, "request", 0) : null;
}

/** A number that is not a part of a longer word. */
function number(text: string, value: string | undefined, from: number): Span | null {
  if (!value || value === "-") return null;
  for (let start = text.indexOf(value, from); start >= 0; start = text.indexOf(value, start + 1)) {
    const end = start + value.length;
    const around = text.charAt(start - 1) + text.charAt(end);
    if (!/[\w.]/.test(around)) return { start, end, mark: "status" };
  }
  return null;
}
