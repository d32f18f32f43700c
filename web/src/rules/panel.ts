/** The rules panel: its text, its question and the answer. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { LiveReply } from "../generated/LiveReply";
import type { RulePlace } from "../generated/RulePlace";
import type { RulesAnswer } from "../generated/RulesAnswer";

/** The reply to a panel. */
export type RulesReply = Extract<LiveReply, { type: "rules" }>;

/** What the panel shows. */
export interface Panel {
  /** The text that was asked about; `null` if there is none. */
  text: string | null;
  /** Whether only the requests that the filter of the page selects are replayed. */
  isFiltered: boolean;
  /** The id of the last question. */
  asked: number;
  /** Whether that was answered. */
  isAnswered: boolean;
  /** The last answer; stays while the next one is awaited. */
  answer: RulesAnswer | null;
  /** Why there is none. */
  refusal: string | null;
  /** The part of the text that was refused. */
  place: RulePlace | null;
}

export const NO_PANEL: Panel = {
  text: null,
  isFiltered: false,
  asked: 0,
  isAnswered: true,
  answer: null,
  refusal: null,
  place: null,
};

const current = signal<Panel>(NO_PANEL);

/** The panel, read-only. */
export const panel: ReadonlySignal<Panel> = current;

/** Changes a part of the panel. */
export function setPanel(part: Partial<Panel>): void {
  current.value = { ...current.value, ...part };
}

/** Shows a reply, unless it is to an earlier question. */
export function showReply(reply: RulesReply): void {
  current.value = withReply(current.value, reply);
}

/** The panel after a reply. One without an id refuses a message that could not be read. */
export function withReply(before: Panel, reply: RulesReply): Panel {
  if (reply.query !== null && reply.query !== before.asked) return before;
  const { answer = null, error, place = null } = reply;
  if (error) return { ...before, isAnswered: true, answer: null, refusal: error.message, place };
  return { ...before, isAnswered: true, answer, refusal: null, place: null };
}
