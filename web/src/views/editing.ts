/** The actions in the filter box. */

import type { ConditionPlace } from "../generated/ConditionPlace";
import type { Chip } from "../state/chips";
import { type Draft, NO_DRAFT } from "../state/draft";
import { dispatch, draft } from "../state/store";

/** Puts the text of a condition into the box, to be changed. */
export function edit(chip: Chip): void {
  // A copy, so that a second click on the same condition is a change as well.
  set({ ...NO_DRAFT, text: chip.text, replaced: { ...chip } });
}

/** Changes the text. */
export function setText(text: string): void {
  set({ ...NO_DRAFT, text, replaced: draft.peek().replaced });
}

/** Keeps the text, and shows why it was refused. */
export function refuseDraft(refusal: string | null, place: ConditionPlace | null): void {
  set({ ...draft.peek(), refusal, place });
}

/** Empties the box. */
export function clearDraft(): void {
  set(NO_DRAFT);
}

function set(draft: Draft): void {
  dispatch({ type: "draft", draft });
}
