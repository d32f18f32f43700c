/** The question in the history of the browser, for Back, Forward and a reload. */

import type { Question } from "../state/state";
import { addressOf, questionOf } from "../state/url";

/**
 * The longest address, in characters. Servers and proxies refuse long ones, this server those of
 * 16 kB and more.
 */
const ADDRESS_MAX = 8_000;

interface Entry {
  /** The number of steps that Back can undo. */
  depth?: number;
  /** The question, if its filter is too long for the address. */
  question?: Question;
}

/** Adds an entry. A filter that is too long for the address is kept in the entry alone. */
export function pushQuestion(session: string | null, question: Question, steps: number): void {
  const { entry, address } = entryOf(session, question, steps);
  history.pushState(entry, "", address);
}

/** Makes the current entry that of a question. */
export function replaceQuestion(session: string | null, question: Question): void {
  const { entry, address } = entryOf(session, question, depth());
  history.replaceState(entry, "", address);
}

function entryOf(session: string | null, question: Question, steps: number) {
  const { hash } = location;
  const address = addressOf(session, question) + hash;
  if (address.length - hash.length <= ADDRESS_MAX) return { entry: { depth: steps }, address };
  const short = addressOf(session, { ...question, clauses: [], conditions: [] }) + hash;
  return { entry: { depth: steps, question }, address: short };
}

/** The begin of the fragment that holds a rule. It is not sent to the server. */
const RULE = "#rule=";

/** The rule in the address; empty if there is none. */
export function ruleOfAddress(): string {
  if (!location.hash.startsWith(RULE)) return "";
  try {
    return decodeURIComponent(location.hash.slice(RULE.length));
  } catch {
    return "";
  }
}

/** Keeps a rule in the address, without a step. One that is too long for it is left out. */
export function noteRule(text: string): void {
  const hash = text.trim() === "" ? "" : RULE + encodeURIComponent(text);
  const kept = hash.length <= ADDRESS_MAX ? hash : "";
  if (kept !== location.hash)
    history.replaceState(history.state, "", location.pathname + location.search + kept);
}

/** The question of the current entry. */
export function currentQuestion(): Question {
  return entry().question ?? questionOf(location.search);
}

/** The number of steps that Back can undo. */
export function depth(): number {
  return entry().depth ?? 0;
}

function entry(): Entry {
  return (history.state as Entry | null) ?? {};
}
