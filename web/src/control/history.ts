/** The question in the history of the browser, for Back, Forward and a reload. */

import type { Question } from "../state/state";
import { state } from "../state/store";
import { addressOf, type Place, questionOf } from "../state/url";

/**
 * The longest address, in characters. Servers and proxies refuse long ones, this server those of
 * 16 kB and more.
 */
export const ADDRESS_MAX = 8_000;

interface Entry {
  /** The number of steps that Back can undo. */
  depth?: number;
  /** The question, if its filter is too long for the address. */
  question?: Question;
  /** Whether the story of a client was opened by this step. */
  isStory?: boolean;
}

/** Adds an entry. A filter that is too long for the address is kept in the entry alone. */
export function pushQuestion(session: string | null, question: Question, steps: number): void {
  const { entry, address } = entryOf(session, question, steps);
  history.pushState(entry, "", address);
}

/** Replaces the current entry by that of a question. */
export function replaceQuestion(session: string | null, question: Question): void {
  const { entry, address } = entryOf(session, question, depth());
  history.replaceState(entry, "", address);
}

function entryOf(session: string | null, question: Question, steps: number) {
  const { hash } = location;
  const address = addressOf(session, question, place()) + hash;
  if (address.length - hash.length <= ADDRESS_MAX) return { entry: { depth: steps }, address };
  const short = addressOf(session, { ...question, clauses: [], conditions: [] }, place()) + hash;
  return { entry: { depth: steps, question }, address: short };
}

/** Where the page is. */
export function place(): Place {
  return { path: location.pathname, served: state.peek().served };
}

/** The rules in the fragment of the address, which is not sent to the server. */
export interface AddressRules {
  /** The rule of the panel; empty if there is none. */
  rule: string;
  /** The rule that it is compared with; empty if there is none. */
  other: string;
}

/** The rules in the address. */
export function rulesOfAddress(): AddressRules {
  const found: AddressRules = { rule: "", other: "" };
  for (const part of location.hash.slice(1).split("&")) {
    const [name, text] = part.split("=");
    if ((name === "rule" || name === "other") && text !== undefined) found[name] = decoded(text);
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Keeps rules in the address, without a step. One that is too long for it is left out. */
export function noteRules({ rule, other }: AddressRules): void {
  let hash = "";
  for (const [name, text] of [
    ["rule", rule],
    ["other", other],
  ] as const) {
    const longer = `${hash}${hash === "" ? "#" : "&"}${name}=${encodeURIComponent(text)}`;
    if (text.trim() !== "" && longer.length <= ADDRESS_MAX) hash = longer;
  }
  if (hash !== location.hash)
    history.replaceState(history.state, "", location.pathname + location.search + hash);
}

/** The parameter of the address that names the client whose story is told. */
const STORY = "story";

/** The client in the address whose story is told; `null` if there is none. */
export function storyOfAddress(): string | null {
  return new URLSearchParams(location.search).get(STORY) || null;
}

/** Adds an entry in which the story of a client is told. */
export function pushStory(client: string): void {
  history.pushState({ ...entry(), depth: depth() + 1, isStory: true }, "", addressWith(client));
}

/** Goes back if this page opened the story; otherwise removes it from the current address. */
export function leaveStory(): void {
  if (entry().isStory) history.back();
  else history.replaceState(history.state, "", addressWith(null));
}

function addressWith(client: string | null): string {
  const parameters = new URLSearchParams(location.search);
  if (client === null) parameters.delete(STORY);
  else parameters.set(STORY, client);
  const search = parameters.toString();
  return location.pathname + (search === "" ? "" : `?${search}`) + location.hash;
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
