/** The slice of the filter box: what is typed there, and what the server has refused about it. */

import type { ConditionPlace } from "../generated/ConditionPlace";
import type { Action } from "./action";
import type { Chip } from "./chips";

/** Every change is a new object. */
export interface Draft {
  text: string;
  /** The condition that the text replaces; `null` if it is a further one. */
  replaced: Chip | null;
  refusal: string | null;
  place: ConditionPlace | null;
}

export interface DraftAction {
  type: "draft";
  draft: Draft;
}

export const NO_DRAFT: Draft = { text: "", replaced: null, refusal: null, place: null };

/** Returns the slice after an action. */
export function reduceDraft(before: Draft, action: Action): Draft {
  return action.type === "draft" ? action.draft : before;
}
