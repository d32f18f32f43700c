/** The draft in the filter box. */

import { signal } from "@preact/signals";
import type { ConditionPlace } from "../generated/ConditionPlace";
import type { Chip } from "../state/chips";

/** The text in the filter box, and what the server has refused about it. */
export interface Draft {
  text: string;
  /** The condition that the text replaces; `null` if it is a further one. */
  replaced: Chip | null;
  refusal: string | null;
  place: ConditionPlace | null;
}

const EMPTY: Draft = { text: "", replaced: null, refusal: null, place: null };

/** The draft on the screen. Every change is a new object. */
export const draft = signal<Draft>(EMPTY);

/** Puts the text of a condition into the box, to be changed. */
export function edit(chip: Chip): void {
  // A copy, so that a second click on the same condition is a change as well.
  draft.value = { ...EMPTY, text: chip.text, replaced: { ...chip } };
}

/** Changes the text. */
export function setText(text: string): void {
  draft.value = { ...EMPTY, text, replaced: draft.peek().replaced };
}

/** Keeps the text, and shows why it was refused. */
export function refuseDraft(refusal: string | null, place: ConditionPlace | null): void {
  draft.value = { ...draft.peek(), refusal, place };
}

/** Empties the box. */
export function clearDraft(): void {
  draft.value = EMPTY;
}
