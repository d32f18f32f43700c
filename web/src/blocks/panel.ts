/** The blocks panel: its question and the answer. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { BlocksReport } from "../generated/BlocksReport";
import type { LiveReply } from "../generated/LiveReply";

/** The reply to a panel. */
export type BlocksReply = Extract<LiveReply, { type: "blocks" }>;

/** What the panel shows. */
export interface BlocksPanelState {
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

export const NO_BLOCKS: BlocksPanelState = {
  clockOffset_s: null,
  asked: 0,
  isAnswered: true,
  report: null,
  isComplete: true,
  refusal: null,
};

const current = signal<BlocksPanelState>(NO_BLOCKS);

/** The panel, read-only. */
export const blocks: ReadonlySignal<BlocksPanelState> = current;

/** How far the clock of the blocks is ahead of that of the requests, in seconds, as far as known. */
export function blocksAhead_s(): number {
  return current.peek().report?.clock.offset_s ?? 0;
}

/** Changes a part of the panel. */
export function setBlocks(part: Partial<BlocksPanelState>): void {
  current.value = { ...current.value, ...part };
}

/** Shows a reply, unless it is to an earlier question. */
export function showBlocks(reply: BlocksReply): void {
  current.value = withReply(current.value, reply);
}

/** The panel after a reply. */
export function withReply(before: BlocksPanelState, reply: BlocksReply): BlocksPanelState {
  if (reply.query !== null && reply.query !== before.asked) return before;
  if (reply.error) return { ...before, isAnswered: true, refusal: reply.error.message };
  const report = reply.answer?.report ?? null;
  const isComplete = reply.answer?.complete ?? true;
  return { ...before, isAnswered: true, report, isComplete, refusal: null };
}
