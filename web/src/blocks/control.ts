/** The question of the blocks panel, asked unprompted if a log may have blocks beside requests. */

import { effect } from "@preact/signals";
import { askBlocks } from "../control/live";
import { ask as askAgain } from "../control/questions";
import type { KindCount } from "../generated/KindCount";
import { networksOf } from "../rules/networks";
import { type BlocksSlice, NO_BLOCKS } from "../state/blocks";
import { blocks, dispatch, rules, state } from "../state/store";

/** The number of the panel on the connection. */
const PANEL = 6;

/** The time before the first block in which requests count, in seconds. */
export const WINDOW_S = 600;

/** Asks whenever the records begin to have two kinds, or the zone or the good networks change. */
export function followBlocks(): void {
  let last = "";
  effect(() => {
    const { session, view, question } = state.value;
    const mayHave = view !== null && mayHaveBlocks(view.report.kinds);
    const asked = mayHave ? JSON.stringify([session, question.zone, rules.value.lab.networks]) : "";
    if (asked === last) return;
    const isSameSession = asked !== "" && last.startsWith(JSON.stringify([session]).slice(0, -1));
    last = asked;
    if (!isSameSession) setBlocks({ ...NO_BLOCKS, asked: blocks.peek().asked });
    if (mayHave) ask();
  });
}

/** Asks for the chart again whenever another clock offset moves the blocks that are laid over it. */
export function followClock(): void {
  let last = 0;
  effect(() => {
    const ahead_s = blocks.value.report?.clock.offset_s ?? 0;
    if (ahead_s === last) return;
    last = ahead_s;
    if (state.peek().question.hasOverlay) askAgain();
  });
}

/** Sets how far the clock of the blocks is ahead; `null` estimates it. */
export function setClockOffset(clockOffset_s: number | null): void {
  setBlocks({ clockOffset_s });
  ask();
}

/** Whether records of these kinds may be blocks beside requests. */
export function mayHaveBlocks(kinds: readonly KindCount[]): boolean {
  const has = (wanted: (kind: string) => boolean) =>
    kinds.some(({ kind, records }) => records > 0 && wanted(kind));
  return has((kind) => kind === "request") && has((kind) => kind !== "request");
}

function ask(): void {
  const { asked, clockOffset_s } = blocks.peek();
  const { question } = state.peek();
  setBlocks({ asked: asked + 1, isAnswered: false });
  const all = { ...question, clauses: [], conditions: [], kind: null, hasOverlay: false };
  const good_networks = networksOf(rules.peek().lab.networks).valid;
  const asking = { window_s: WINDOW_S, clock_offset_s: clockOffset_s, good_networks };
  askBlocks(PANEL, asked + 1, all, asking);
}

function setBlocks(part: Partial<BlocksSlice>): void {
  dispatch({ type: "blocks", part });
}
