/** The slice of the rules panel: its rule and one beside it, what is asked of them, and the answers. */

import type { LinesNeeded } from "../generated/LinesNeeded";
import type { LiveReply } from "../generated/LiveReply";
import type { RuleFile } from "../generated/RuleFile";
import type { RulePlace } from "../generated/RulePlace";
import type { RulesAnswer } from "../generated/RulesAnswer";
import type { Action } from "./action";

/** The reply to a panel. */
export type RulesReply = Extract<LiveReply, { type: "rules" }>;

/** One rule: its text, the question about it and the answer. */
export interface RulePanel {
  /** The text that was asked about; `null` if there is none. */
  text: string | null;
  /** The files that the text refers to, as they were dropped with it. */
  files: readonly RuleFile[];
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
  /** The lines that are read again for the answer; `null` if none are. */
  lines: LinesAgain | null;
}

/** Lines that are read again for an answer. The server waits while others are still uploaded. */
export interface LinesAgain {
  isWaiting: boolean;
  bytes_done: number;
  bytes_total: number;
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

export interface RulesSlice {
  /** The rule of the panel, and the one that it is compared with. */
  panels: readonly [RulePanel, RulePanel];
  lab: Lab;
}

/** The numbers of the two rules, on the screen and on the connection. */
export const OWN = 0;
export const OTHER = 1;
export type Slot = typeof OWN | typeof OTHER;

export type RulesAction =
  | { type: "rule"; slot: Slot; part: Partial<RulePanel> }
  | { type: "rule_reply"; reply: RulesReply }
  | { type: "lab"; part: Partial<Lab> };

export const NO_RULE: RulePanel = {
  text: null,
  files: [],
  isFiltered: false,
  asked: 0,
  isAnswered: true,
  answer: null,
  refusal: null,
  place: null,
  lines: null,
};

export const NO_RULES: RulesSlice = {
  panels: [NO_RULE, NO_RULE],
  lab: { hasGrid: false, hasOther: false, networks: "" },
};

/** Returns the slice after an action. */
export function reduceRules(before: RulesSlice, action: Action): RulesSlice {
  switch (action.type) {
    case "rule":
      return withPanel(before, action.slot, (panel) => ({ ...panel, ...action.part }));
    case "rule_reply":
      return withPanel(before, action.reply.panel, (panel) => withReply(panel, action.reply));
    case "lab":
      return { ...before, lab: { ...before.lab, ...action.part } };
    default:
      return before;
  }
}

function withPanel(
  before: RulesSlice,
  slot: number,
  change: (panel: RulePanel) => RulePanel,
): RulesSlice {
  const [own, other] = before.panels;
  if (slot === OWN) return { ...before, panels: [change(own), other] };
  return slot === OTHER ? { ...before, panels: [own, change(other)] } : before;
}

/** The panel after a reply. One without an id refuses a message that could not be read. */
export function withReply(before: RulePanel, reply: RulesReply): RulePanel {
  if (reply.query !== null && reply.query !== before.asked) return before;
  const { answer = null, error, place = null, lines } = reply;
  if (lines) return { ...before, isAnswered: false, lines: linesOf(lines) };
  const after = { ...before, isAnswered: true, lines: null };
  if (error) return { ...after, answer: null, refusal: error.message, place };
  return { ...after, answer, refusal: null, place: null };
}

/** The lines that are needed, before any is sent. */
export function linesOf({ files }: LinesNeeded): LinesAgain {
  const bytes_total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { isWaiting: files.length === 0, bytes_done: 0, bytes_total };
}
