/** The rules panel: the texts of its rule and of one beside it, its questions and the answers. */

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
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

/** The rule of the panel, and the one that it is compared with: their numbers on the connection. */
export const OWN = 0;
export const OTHER = 1;
export type Slot = typeof OWN | typeof OTHER;

const slots: [Signal<Panel>, Signal<Panel>] = [signal(NO_PANEL), signal(NO_PANEL)];

/** Both rules, read-only. */
export const panels: readonly ReadonlySignal<Panel>[] = slots;

/** The rule of the panel, read-only. */
export const panel: ReadonlySignal<Panel> = slots[OWN];

/** Changes a part of the state of a rule. */
export function setPanel(part: Partial<Panel>, slot: Slot = OWN): void {
  slots[slot].value = { ...slots[slot].value, ...part };
}

/** Shows a reply, unless it is to an earlier question. */
export function showReply(reply: RulesReply): void {
  const current = slots[reply.panel];
  if (current) current.value = withReply(current.value, reply);
}

/** The lab: what a person asks of the panel beyond the replay. */
export interface Lab {
  /** Whether other rates and bursts are tried. */
  hasGrid: boolean;
  /** Whether another rule is beside that of the panel. */
  hasOther: boolean;
  /** The networks whose clients are good, as they were typed. */
  networks: string;
}

const currentLab = signal<Lab>({ hasGrid: false, hasOther: false, networks: "" });

/** What is asked beyond the replay, read-only. */
export const lab: ReadonlySignal<Lab> = currentLab;

/** Changes a part of the lab. */
export function setLab(part: Partial<Lab>): void {
  currentLab.value = { ...currentLab.value, ...part };
}

/** The panel after a reply. One without an id refuses a message that could not be read. */
export function withReply(before: Panel, reply: RulesReply): Panel {
  if (reply.query !== null && reply.query !== before.asked) return before;
  const { answer = null, error, place = null } = reply;
  if (error) return { ...before, isAnswered: true, answer: null, refusal: error.message, place };
  return { ...before, isAnswered: true, answer, refusal: null, place: null };
}
