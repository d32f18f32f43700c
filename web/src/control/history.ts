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
  const address = addressOf(session, question);
  if (address.length <= ADDRESS_MAX) {
    history.pushState({ depth: steps }, "", address);
  } else {
    const short = addressOf(session, { ...question, clauses: [], conditions: [] });
    history.pushState({ depth: steps, question }, "", short);
  }
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
