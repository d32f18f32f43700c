/** The slice of the blocks panel: its question and the answer. */

import type { BlocksReport } from "../generated/BlocksReport";
import type { LiveReply } from "../generated/LiveReply";
import type { Action } from "./action";

/** The reply to a panel. */
export type BlocksReply = Extract<LiveReply, { type: "blocks" }>;

export interface BlocksSlice {
  /** How far the clock of the blocks is ahead, in seconds, if a person has set it. */
  clockOffset_s: number | null;
  /** The id of the last question. */
  asked: number;
  /** Whether that was answered. */
  isAnswered: boolean;
  /** The last report; `null` without blocks beside requests. */
  report: BlocksReport | null;
  /** Whether the log was read to its end. */
  isComplete: boolean;
  /** Why there is no answer. */
  refusal: string | null;
}

export type BlocksAction =
  | { type: "blocks"; part: Partial<BlocksSlice> }
  | { type: "blocks_reply"; reply: BlocksReply };

export const NO_BLOCKS: BlocksSlice = {
  clockOffset_s: null,
  asked: 0,
  isAnswered: true,
  report: null,
  isComplete: true,
  refusal: null,
};

/** Returns the slice after an action. */
export function reduceBlocks(before: BlocksSlice, action: Action): BlocksSlice {
  switch (action.type) {
    case "blocks":
      return { ...before, ...action.part };
    case "blocks_reply":
      return withReply(before, action.reply);
    default:
      return before;
  }
}

/** The slice after a reply, which is ignored if it is to an earlier question. */
export function withReply(before: BlocksSlice, reply: BlocksReply): BlocksSlice {
  if (reply.query !== null && reply.query !== before.asked) return before;
  if (reply.error) return { ...before, isAnswered: true, refusal: reply.error.message };
  const report = reply.answer?.report ?? null;
  const isComplete = reply.answer?.complete ?? true;
  return { ...before, isAnswered: true, report, isComplete, refusal: null };
}
