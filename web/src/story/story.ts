/** The story of one client: which one is told, and what is known of it. */

import { effect, type ReadonlySignal, signal } from "@preact/signals";
import { mayHaveBlocks, WINDOW_S } from "../blocks/control";
import { type BlocksReply, blocksAhead_s, blocks as blocksPanel } from "../blocks/panel";
import { leaveStory, pushStory, storyOfAddress } from "../control/history";
import { askBlocks, askRules } from "../control/live";
import { filterBy } from "../control/questions";
import type { BlockedClient } from "../generated/BlockedClient";
import type { Report } from "../generated/Report";
import type { RulesAnswer } from "../generated/RulesAnswer";
import { LinePanel } from "../lines/control";
import { type RulesReply, panel as rulesPanel } from "../rules/panel";
import { conditionOf } from "../state/conditionText";
import type { Question } from "../state/state";
import { state, view } from "../state/store";

/** The number of the panel of rules on the connection: the last one. */
export const STORY_PANEL = 7;

/** The number of the panel of blocks on the connection. */
export const STORY_BLOCKS_PANEL = 5;

/** The number of the first of its panels of lines. */
const LINE_PANEL = 2;

/** The steps of its timeline. */
const BUCKETS = 200;

/** The time between two reports while the data grows. */
const REFRESH_MS = 2_000;

/** What is known of the client. */
export interface Story {
  report: Report | null;
  /** What the rules of the panel would have done with it; `null` if there are none. */
  rules: RulesAnswer | null;
  /** What the logs of blocks state of it; `undefined` until that is known, `null` for nothing. */
  blocked: BlockedClient | null | undefined;
  /** Why something is missing. */
  refusal: string | null;
}

const NO_STORY: Story = { report: null, rules: null, blocked: undefined, refusal: null };

const client = signal<string | null>(null);
const current = signal<Story>(NO_STORY);
let asked = 0;

/** The client whose story is shown; `null` if none is. */
export const storyClient: ReadonlySignal<string | null> = client;

/** What is known of that client. */
export const story: ReadonlySignal<Story> = current;

/** The lines of that client. */
export const storyLines = new LinePanel(LINE_PANEL, () =>
  client.value === null ? null : questionOf(client.value),
);

/** Shows the story of a client, as one step that Back undoes. */
export function tellStory(of: string): void {
  pushStory(of);
  client.value = of;
}

/** Closes the story. */
export function closeStory(): void {
  leaveStory();
  client.value = null;
}

/** Closes the story, and filters the page by its client. */
export function filterByClient(of: string): void {
  client.value = null;
  filterBy([{ field: "client", op: "=", values: [of] }], []);
}

/** Shows the story that the address names. */
export function followStory(): void {
  client.value = storyOfAddress();
}

/** Handles the answer about the rules. */
export function showStoryRules({ query, answer, error }: RulesReply): void {
  if (query !== asked) return;
  current.value = { ...current.value, rules: answer ?? null };
  if (error) current.value = { ...current.value, refusal: error.message };
}

/** Handles the answer about the blocks of the client. */
export function showStoryBlocks({ query, answer, error }: BlocksReply): void {
  if (query !== asked) return;
  if (error) current.value = { ...current.value, refusal: error.message };
  else current.value = { ...current.value, blocked: answer?.report?.clients[0] ?? null };
}

/** Asks for everything whenever another client is chosen, and again while the data grows. */
export function followStories(): void {
  storyLines.follow();
  let last = "";
  let size = -1;
  let isWaiting = false;
  effect(() => {
    const { session, connection, question } = state.value;
    const { text } = rulesPanel.value;
    const of = connection === "open" && session !== null ? client.value : null;
    const { zone, kind } = question;
    const context = [text, zone, kind, ...blocksContext()];
    const key = of === null ? "" : JSON.stringify([session, of, ...context]);
    const records = view.value?.report.records ?? 0;
    if (key !== last) {
      last = key;
      size = records;
      current.value = NO_STORY;
      tell(session, of, text);
    } else if (of !== null && session !== null && records !== size) {
      size = records;
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => {
        isWaiting = false;
        if (last === key) void report(session, of);
      }, REFRESH_MS);
    }
  });
}

/** What a question about blocks depends on. */
function blocksContext(): unknown[] {
  const kinds = view.value?.report.kinds ?? [];
  return [mayHaveBlocks(kinds), blocksPanel.value.report?.clock.offset_s ?? 0];
}

function tell(session: string | null, of: string | null, text: string | null): void {
  asked += 1;
  if (of === null || session === null) {
    if (asked > 1) {
      askRules(STORY_PANEL, asked, state.peek().question, null);
      askBlocks(STORY_BLOCKS_PANEL, asked, state.peek().question, null);
    }
    return;
  }
  void report(session, of);
  if (text !== null) askRules(STORY_PANEL, asked, questionOf(of), { text });
  if (!mayHaveBlocks(view.peek()?.report.kinds ?? [])) return;
  const question = { window_s: WINDOW_S, clock_offset_s: blocksAhead_s() };
  askBlocks(STORY_BLOCKS_PANEL, asked, { ...questionOf(of), hasOverlay: false }, question);
}

async function report(session: string, of: string): Promise<void> {
  const { zone, kind } = state.peek().question;
  const parameters = new URLSearchParams({
    where: conditionOf({ field: "client", op: "=", values: [of] }),
    buckets: String(BUCKETS),
    top: "10",
  });
  if (zone !== null) parameters.set("zone", zone);
  if (kind !== null) parameters.set("kind", kind);
  try {
    const response = await fetch(`/api/sessions/${session}/report?${parameters}`);
    const body: unknown = await response.json();
    if (client.peek() !== of) return;
    if (response.ok) current.value = { ...current.peek(), report: body as Report };
    else refuse((body as { message: string }).message);
  } catch {
    if (client.peek() === of) refuse("Weir does not answer.");
  }
}

function refuse(refusal: string): void {
  current.value = { ...current.peek(), refusal };
}

function questionOf(of: string): Question {
  const clauses = [{ field: "client", op: "=" as const, values: [of] }];
  return { ...state.value.question, clauses, conditions: [] };
}
