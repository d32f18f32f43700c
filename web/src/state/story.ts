/** The slice of the story of a client or a user: whose is told, and what is known of it. */

import type { BlockedClient } from "../generated/BlockedClient";
import type { Report } from "../generated/Report";
import type { RulesAnswer } from "../generated/RulesAnswer";
import type { Action } from "./action";
import type { BlocksReply } from "./blocks";
import { type LinesAgain, linesOf, type RulesReply } from "./rules";

/** The number of the panel of rules on the connection: the last one. */
export const STORY_PANEL = 7;

/** The number of the panel of blocks on the connection. */
export const STORY_BLOCKS_PANEL = 5;

/** Whose story is told: the records with this value of a field. A client may be a whole network. */
export interface Subject {
  field: string;
  value: string;
}

/** The fields whose values have stories: who it was. */
const STORY_FIELDS = new Set(["client", "network", "user"]);

/** Whose story a value of a field leads to; `null` if it has none. */
export function subjectOf(field: string, value: string): Subject | null {
  if (!STORY_FIELDS.has(field)) return null;
  // A network is told as its clients, which have logs of blocks and rules.
  return { field: field === "network" ? "client" : field, value };
}

/** What is known of the subject. */
export interface StoryFacts {
  report: Report | null;
  /** What the rules of the panel would have done with it; `null` if there are none. */
  rules: RulesAnswer | null;
  /** The lines that are read again for these; `null` if none are. */
  lines: LinesAgain | null;
  /** What the logs of blocks state of it; `undefined` until that is known, `null` for nothing. */
  blocked: BlockedClient | null | undefined;
  /** Why something is missing. */
  refusal: string | null;
}

export interface StorySlice extends StoryFacts {
  /** Whose story is shown; `null` if none is. */
  of: Subject | null;
  /** The id of the last questions about it. */
  asked: number;
}

export type StoryAction =
  | { type: "story"; of: Subject | null }
  /** Its questions are asked anew, so that nothing is known. */
  | { type: "story_asked"; asked: number }
  | { type: "story_facts"; facts: Partial<StoryFacts> }
  | { type: "story_rules"; reply: RulesReply }
  | { type: "story_blocks"; reply: BlocksReply };

const NO_FACTS: StoryFacts = {
  report: null,
  rules: null,
  lines: null,
  blocked: undefined,
  refusal: null,
};

export const NO_STORY: StorySlice = { ...NO_FACTS, of: null, asked: 0 };

/** Returns the slice after an action. */
export function reduceStory(before: StorySlice, action: Action): StorySlice {
  switch (action.type) {
    case "story":
      return isSame(before.of, action.of) ? before : { ...before, of: action.of };
    case "story_asked":
      return { ...before, ...NO_FACTS, asked: action.asked };
    case "story_facts":
      return { ...before, ...action.facts };
    case "story_rules":
      return withRules(before, action.reply);
    case "story_blocks":
      return withBlocks(before, action.reply);
    default:
      return before;
  }
}

function isSame(one: Subject | null, other: Subject | null): boolean {
  return one?.field === other?.field && one?.value === other?.value;
}

function withRules(before: StorySlice, reply: RulesReply): StorySlice {
  const { query, answer, error, lines } = reply;
  if (query !== before.asked) return before;
  if (lines) return { ...before, lines: linesOf(lines) };
  const refusal = error ? error.message : before.refusal;
  return { ...before, rules: answer ?? null, refusal, lines: null };
}

function withBlocks(before: StorySlice, { query, answer, error }: BlocksReply): StorySlice {
  if (query !== before.asked) return before;
  if (error) return { ...before, refusal: error.message };
  return { ...before, blocked: answer?.report?.clients[0] ?? null };
}
