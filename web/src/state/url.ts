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
import { durationNamed, measureNamed } from "./measure";
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

/** The path of a session that has an id, or a name. */
const SESSION = /^\/(?:s\/([0-9a-f]{1,64})|d\/([a-z0-9][a-z0-9._-]{0,63}))\/?$/i;

/** The page on which logs are dropped, if `/` shows what the program serves. */
export const NEW = "/new";

/** Whether a session has a name, as what a program serves has, and not the id of an upload. */
export function isName(session: string | null): boolean {
  return session !== null && !/^[0-9a-f]{32}$/i.test(session);
}

/** Where the page is. */
export interface Place {
  /** The path of the address. */
  path: string;
  /** The name of the data set that the program serves, if there is one. */
  served: string | null;
}

/** The session at a place. */
export function sessionOf({ path, served }: Place): string | null {
  if (path === "/") return served;
  const match = SESSION.exec(path);
  return match?.[1] ?? match?.[2] ?? null;
}

/** The path of a session. It stays the same as long as the session does. */
function pathOf(session: string | null, place: Place): string {
  if (session === sessionOf(place)) return place.path;
  if (session === null) return place.served === null ? "/" : NEW;
  return session === place.served ? "/" : `/s/${session}`;
}

/** The address of a question about a session, for a page at `place`. */
export function addressOf(session: string | null, question: Question, place: Place): string {
  const path = pathOf(session, place);
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
  if (question.measure !== DEFAULT_QUESTION.measure) pairs.push(`m=${question.measure}`);
  if (question.duration !== null) pairs.push(`of=${question.duration}`);
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
    measure: measureNamed(params.get("m")),
    duration: durationNamed(params.get("of")),
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
