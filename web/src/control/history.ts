/** The question in the history of the browser, for Back, Forward and a reload. */

import type { Question } from "../state/state";
import { state } from "../state/store";
import { type Subject, subjectOf } from "../state/story";
import { type Tab, tabNamed } from "../state/tab";
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
  /** Whether a story was opened by this step. */
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
  const of = (asked: Question) => withTab(addressOf(session, asked, place()), tabOfAddress());
  const address = of(question) + hash;
  if (address.length - hash.length <= ADDRESS_MAX) return { entry: { depth: steps }, address };
  const short = of({ ...question, clauses: [], conditions: [] }) + hash;
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

/** The parameter of the address that names the tab on the screen. */
const TAB = "tab";

/** The tab in the address; `null` if there is none. */
export function tabOfAddress(): Tab | null {
  return tabNamed(new URLSearchParams(location.search).get(TAB));
}

/**
 * The tab of an address that names none: that of the rules if it has a rule, because such addresses
 * are older than the tabs.
 */
export function tabUnnamed(): Tab {
  const { rule, other } = rulesOfAddress();
  return rule !== "" || other !== "" ? "rules" : "overview";
}

/** Keeps the tab in the address, without a step. */
export function noteTab(tab: Tab): void {
  const named = tab === tabUnnamed() ? null : tab;
  if (named === tabOfAddress()) return;
  const { pathname, search, hash } = location;
  history.replaceState(history.state, "", withTab(pathname + search, named) + hash);
}

/** An address without a fragment, with the tab instead of any that is in it. */
function withTab(address: string, tab: Tab | null): string {
  const [path = "", search = ""] = address.split("?", 2);
  const parts = search.split("&").filter((part) => part !== "" && !part.startsWith(`${TAB}=`));
  if (tab !== null) parts.push(`${TAB}=${tab}`);
  return parts.length === 0 ? path : `${path}?${parts.join("&")}`;
}

/** The parameters of the address that say whose story is told: the value, and its field. */
const [STORY, STORY_FIELD] = ["story", "of"];

/** The field of a story whose address names none. */
const CLIENT = "client";

/** Whose story the address tells; `null` if it tells none. */
export function storyOfAddress(): Subject | null {
  const parameters = new URLSearchParams(location.search);
  const value = parameters.get(STORY);
  return value ? subjectOf(parameters.get(STORY_FIELD) ?? CLIENT, value) : null;
}

/** Adds an entry in which a story is told, or tells it in the entry of another. */
export function pushStory(of: Subject): void {
  const address = addressWith(of);
  if (entry().isStory) history.replaceState(history.state, "", address);
  else history.pushState({ ...entry(), depth: depth() + 1, isStory: true }, "", address);
}

/** Goes back if this page opened the story; otherwise removes it from the current address. */
export function leaveStory(): void {
  if (entry().isStory) history.back();
  else history.replaceState(history.state, "", addressWith(null));
}

function addressWith(of: Subject | null): string {
  const parameters = new URLSearchParams(location.search);
  for (const name of [STORY, STORY_FIELD]) parameters.delete(name);
  if (of !== null) parameters.set(STORY, of.value);
  if (of !== null && of.field !== CLIENT) parameters.set(STORY_FIELD, of.field);
  const search = parameters.toString();
  return location.pathname + (search === "" ? "" : `?${search}`) + location.hash;
}

/** The question of the current entry. */
export function currentQuestion(): Question {
  return entry().question ?? questionOf(location.search);
}

/** Whether the address has the whole question, so that it leads others to the same. */
export function isInAddress(): boolean {
  return entry().question === undefined;
}

/** The number of steps that Back can undo. */
export function depth(): number {
  return entry().depth ?? 0;
}

function entry(): Entry {
  return (history.state as Entry | null) ?? {};
}
