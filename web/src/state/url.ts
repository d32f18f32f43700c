/**
 * The question in the address, so that it can be shared and Back works.
 *
 * Each condition is a parameter `where`, and each clause a parameter `f`: `f=status~eq~404~500`.
 * Tildes separate the parts of a clause; a tilde or an exclamation mark inside of a part is preceded
 * by `!`. Operators are words, because their signs would be percent-escaped.
 */

import { kindNamed } from "../format/kind";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";
import type { RecordKind } from "../generated/RecordKind";
import { DEFAULT_QUESTION, type Question } from "./state";

const WORDS: Record<Operator, string> = {
  "=": "eq",
  "!=": "ne",
  "=x": "eqx",
  "!=x": "nex",
  "^=": "starts",
  "~": "re",
  "!~": "nre",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};

const OPERATORS = new Map(
  Object.entries(WORDS).map(([operator, word]) => [word, operator as Operator]),
);

/** The kind that can be laid over the requests. */
const OVERLAY: RecordKind = "firewall_event";

const SESSION = /^\/s\/([0-9a-f]{1,64})\/?$/i;

/** The session in the path of an address. */
export function sessionOf(path: string): string | null {
  return SESSION.exec(path)?.[1] ?? null;
}

/** The address of a question about a session. */
export function addressOf(session: string | null, question: Question): string {
  const path = session === null ? "/" : `/s/${session}`;
  const search = searchOf(question);
  return search === "" ? path : `${path}?${search}`;
}

/** The query string of a question, without the question mark and without defaults. */
export function searchOf(question: Question): string {
  const pairs = question.clauses.map((clause) => `f=${encodeURIComponent(clauseText(clause))}`);
  pairs.push(...question.conditions.map((text) => `where=${encodeURIComponent(text)}`));
  if (question.stack !== DEFAULT_QUESTION.stack)
    pairs.push(`by=${encodeURIComponent(question.stack)}`);
  if (question.top !== DEFAULT_QUESTION.top) pairs.push(`top=${question.top}`);
  if (question.zone !== null) pairs.push(`tz=${encodeURIComponent(question.zone)}`);
  if (question.kind !== null) pairs.push(`kind=${question.kind}`);
  if (question.hasOverlay) pairs.push(`over=${OVERLAY}`);
  return pairs.join("&");
}

/** Parses a query string; invalid parts are ignored. */
export function questionOf(search: string): Question {
  const params = new URLSearchParams(search);
  const top = Number(params.get("top"));
  return {
    clauses: params.getAll("f").flatMap((text) => clauseOf(text) ?? []),
    conditions: params.getAll("where").filter((text) => text.trim() !== ""),
    stack: params.get("by") || DEFAULT_QUESTION.stack,
    top: Number.isInteger(top) && top > 0 && top <= 1000 ? top : DEFAULT_QUESTION.top,
    zone: params.get("tz") || null,
    kind: kindNamed(params.get("kind")),
    hasOverlay: params.get("over") === OVERLAY,
  };
}

function clauseText(clause: Clause): string {
  return [clause.field, WORDS[clause.op], ...clause.values]
    .map((part) => part.replace(/[!~]/g, "!$&"))
    .join("~");
}

function clauseOf(text: string): Clause | null {
  const [field, word, ...values] = split(text);
  const op = word === undefined ? undefined : OPERATORS.get(word);
  if (!field || op === undefined || values.length === 0) return null;
  return { field, op, values };
}

function split(text: string): string[] {
  const found = [""];
  for (const match of text.matchAll(/!(.)|([^!~]+)|(~)|!/gsu)) {
    if (match[3]) found.push("");
    else found[found.length - 1] += match[1] ?? match[2] ?? "";
  }
  return found;
}
