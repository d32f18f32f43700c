/** The state of the page, and the only place that changes it. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Action } from "./action";
import { type BlocksSlice, NO_BLOCKS, reduceBlocks } from "./blocks";
import { type Draft, NO_DRAFT, reduceDraft } from "./draft";
import { type FamiliesSlice, NO_FAMILIES, reduceFamilies } from "./families";
import { reduceHelp } from "./help";
import { type LinesSlice, NO_LISTS, reduceLines } from "./lines";
import { NO_RULES, type RulesSlice, reduceRules } from "./rules";
import { NOTHING_SAVED, reduceSave, type SaveSlice } from "./save";
import { NO_SERIES, reduceSeries, type SeriesSlice } from "./series";
import { isAwaiting, reduceSession } from "./session";
import { canAsk, INITIAL, type State } from "./state";
import { NO_STORY, reduceStory, type StorySlice } from "./story";
import { reduceTab, type Tab } from "./tab";

/** Everything that determines what is on the screen, in slices that are drawn apart. */
export interface Page {
  session: State;
  draft: Draft;
  rules: RulesSlice;
  blocks: BlocksSlice;
  lines: LinesSlice;
  story: StorySlice;
  save: SaveSlice;
  help: boolean;
  tab: Tab;
  families: FamiliesSlice;
  series: SeriesSlice;
}

const current = signal<Page>({
  session: INITIAL,
  draft: NO_DRAFT,
  rules: NO_RULES,
  blocks: NO_BLOCKS,
  lines: NO_LISTS,
  story: NO_STORY,
  save: NOTHING_SAVED,
  help: false,
  tab: "overview",
  families: NO_FAMILIES,
  series: NO_SERIES,
});

/**
 * The slices, read-only. A component that reads one of them is not rendered again when another
 * changes, such as the progress of an upload, which changes many times a second.
 */
export const state: ReadonlySignal<State> = computed(() => current.value.session);
export const draft = computed(() => current.value.draft);
export const rules = computed(() => current.value.rules);
export const blocks = computed(() => current.value.blocks);
export const lines = computed(() => current.value.lines);
export const story = computed(() => current.value.story);
export const save = computed(() => current.value.save);
export const help = computed(() => current.value.help);
export const tab = computed(() => current.value.tab);
export const families = computed(() => current.value.families);
export const series = computed(() => current.value.series);

/** Parts of the session that are read on their own. */
export const view = computed(() => state.value.view);
export const typedCount = computed(() => state.value.typedCount);
export const awaiting = computed(() => isAwaiting(state.value));
/** Whether the numbers on the screen may be old, because the server does not answer. */
export const stale = computed(() => state.value.view !== null && !canAsk(state.value));
/**
 * The question on the screen. A changed one is shown together with its answer, so that a gesture
 * is drawn once; what a gesture changes is the question of the state.
 */
export const question = computed(() => state.value.shown);

/** A changed question is shown after this time, if its answer has not arrived. */
const PATIENCE_MS = 60;

let patience: ReturnType<typeof setTimeout> | undefined;

/** Applies an action to the state. */
export function dispatch(action: Action): void {
  // Without a subscription: an effect that changes the state need not run at each of its changes.
  const page = reduce(current.peek(), action);
  current.value = page;
  if (page.session.question === page.session.shown) {
    clearTimeout(patience);
    patience = undefined;
  } else {
    patience ??= setTimeout(() => dispatch({ type: "late" }), PATIENCE_MS);
  }
}

/** Returns the state after an action; slices that do not change stay the same objects. */
export function reduce(before: Page, action: Action): Page {
  return {
    session: reduceSession(before.session, action),
    draft: reduceDraft(before.draft, action),
    rules: reduceRules(before.rules, action),
    blocks: reduceBlocks(before.blocks, action),
    lines: reduceLines(before.lines, action),
    story: reduceStory(before.story, action),
    save: reduceSave(before.save, action),
    help: reduceHelp(before.help, action),
    tab: reduceTab(before.tab, action),
    families: reduceFamilies(before.families, action),
    series: reduceSeries(before.series, action),
  };
}
