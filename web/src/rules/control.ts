/** The actions of a person in the rules panel. */

import { effect } from "@preact/signals";
import { noteRule, ruleOfAddress } from "../control/history";
import { askRules } from "../control/live";
import { state } from "../state/store";
import { NO_PANEL, panel, setPanel } from "./panel";

/** The longest text of rules, in bytes, which is the limit of the server. */
export const RULE_BYTES_MAX = 512 << 10;

/** The number of the panel on the connection. */
const PANEL = 0;

/** Asks what the rules of a text would have done; an empty text clears the panel. */
export function tryRule(text: string): void {
  noteRule(text);
  if (text.trim() === "") {
    clear();
    return;
  }
  if (new TextEncoder().encode(text).length > RULE_BYTES_MAX) {
    const refusal = `The text is too long: a panel takes ${RULE_BYTES_MAX >> 10} KiB.`;
    setPanel({ ...NO_PANEL, asked: panel.value.asked, text, refusal });
    return;
  }
  setPanel({ text });
  ask();
}

/** Replays all requests, or only those that the filter selects. */
export function filterRules(isFiltered: boolean): void {
  setPanel({ isFiltered });
  if (panel.value.text !== null) ask();
}

/** Asks about the rule of the address, or the last one, on a new connection. */
export function followSession(): void {
  const text = panel.value.text ?? ruleOfAddress();
  setPanel({ answer: null });
  if (text !== "") tryRule(text);
}

/** Asks again whenever the filter changes, if the panel follows it. */
export function followFilter(): void {
  let last = "";
  effect(() => {
    const { clauses, conditions } = state.value.question;
    const filter = JSON.stringify([clauses, conditions]);
    if (filter === last) return;
    last = filter;
    const { text, isFiltered } = panel.peek();
    if (isFiltered && text !== null) ask();
  });
}

function ask(): void {
  const { text, isFiltered, asked } = panel.peek();
  if (text === null) return;
  const { question } = state.peek();
  const { clauses, conditions, zone } = question;
  const filter = isFiltered ? { clauses, conditions } : { clauses: [], conditions: [] };
  setPanel({ asked: asked + 1, isAnswered: false, refusal: null, place: null });
  askRules(PANEL, asked + 1, { ...question, ...filter, zone }, { text });
}

function clear(): void {
  const { asked, isFiltered } = panel.value;
  setPanel({ ...NO_PANEL, asked: asked + 1, isFiltered });
  askRules(PANEL, asked + 1, state.peek().question, null);
}
