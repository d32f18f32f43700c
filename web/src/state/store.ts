/** The one state of the page, and the one place that changes it. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { View } from "../generated/View";
import { type Connection, INITIAL, type Question, type State, type Upload } from "./state";

/** Everything that can happen to the state. */
export type Action =
  | { type: "session"; session: string | null }
  | { type: "question"; question: Question }
  | { type: "asked"; query: number }
  | { type: "view"; view: View; source_rates: number[] }
  | { type: "connection"; connection: Connection }
  | { type: "refused"; message: string }
  | { type: "notice"; message: string | null }
  | { type: "follow"; follow: boolean }
  | { type: "uploads"; uploads: Upload[] };

const current = signal<State>(INITIAL);

/** The state, to read. */
export const state: ReadonlySignal<State> = current;

/**
 * Parts of the state. What is drawn from one of them is not drawn again when another part
 * changes, such as the progress of an upload, many times a second.
 */
export const question = computed(() => current.value.question);
export const view = computed(() => current.value.view);
export const awaiting = computed(() => isAwaiting(current.value));

/** Lets something happen to the state. */
export function dispatch(action: Action): void {
  current.value = reduce(current.value, action);
}

/** The state after an action; the same object where nothing changes. */
export function reduce(before: State, action: Action): State {
  switch (action.type) {
    case "session":
      return action.session === before.session
        ? before
        : {
            ...INITIAL,
            session: action.session,
            question: before.question,
            uploads: before.uploads,
            follow: before.follow,
          };
    case "question":
      return { ...before, question: action.question, refusal: null };
    case "asked":
      return { ...before, asked: action.query };
    case "view":
      return answered(before, action.view, action.source_rates);
    case "connection":
      return before.connection === action.connection
        ? before
        : { ...before, connection: action.connection };
    case "refused":
      return { ...before, refusal: action.message };
    case "notice":
      return { ...before, notice: action.message };
    case "follow":
      return { ...before, follow: action.follow };
    case "uploads":
      return { ...before, uploads: merged(before.uploads, action.uploads) };
  }
}

/** True while the answer on the screen is not yet that to the last question. */
export function isAwaiting(now: State): boolean {
  return now.view !== null && now.refusal === null && now.view.query !== now.asked;
}

function answered(before: State, view: View, source_rates: number[]): State {
  // Before any question the server answers its own, which has no filter: showing it
  // would flash the unfiltered numbers under the chips of a filter.
  const unasked = view.query === 0 && before.refusal === null;
  if (unasked && before.question.clauses.length > 0) return before;
  const older = before.view !== null && view.query < before.view.query;
  if (older && before.refusal === null) return before;
  return { ...before, view, source_rates };
}

function merged(before: Upload[], changed: Upload[]): Upload[] {
  const byFile = new Map(before.map((upload) => [upload.file, upload]));
  for (const upload of changed) byFile.set(upload.file, upload);
  return [...byFile.values()];
}
