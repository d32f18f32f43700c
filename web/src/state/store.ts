/** The state of the page, and the only place that changes it. */

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { View } from "../generated/View";
import {
  type Connection,
  hasFilter,
  INITIAL,
  type Question,
  type State,
  type Trial,
  type Upload,
} from "./state";

/** Everything that changes the state. */
export type Action =
  | { type: "session"; session: string | null }
  | { type: "question"; question: Question }
  | { type: "asked"; query: number }
  | { type: "trial"; trial: Trial }
  | { type: "view"; view: View; source_rates: number[] }
  | { type: "connection"; connection: Connection }
  | { type: "refused"; message: string }
  | { type: "notice"; message: string | null }
  | { type: "follow"; follow: boolean }
  | { type: "uploads"; uploads: Upload[] };

const current = signal<State>(INITIAL);

/** The state, read-only. */
export const state: ReadonlySignal<State> = current;

/**
 * Parts of the state. A component that reads one of them is not rendered again when another part
 * changes, such as the progress of an upload, which changes many times a second.
 */
export const question = computed(() => current.value.question);
export const view = computed(() => current.value.view);
export const awaiting = computed(() => isAwaiting(current.value));

/** Applies an action to the state. */
export function dispatch(action: Action): void {
  current.value = reduce(current.value, action);
}

/** Returns the state after an action; the same object if nothing changes. */
export function reduce(before: State, action: Action): State {
  switch (action.type) {
    case "session":
      return action.session === before.session
        ? before
        : {
            ...INITIAL,
            session: action.session,
            question: before.question,
            asked: before.asked,
            uploads: before.uploads,
            follow: before.follow,
          };
    case "question":
      return { ...before, question: action.question, refusal: null };
    case "asked":
      return { ...before, asked: action.query };
    case "trial":
      return { ...before, trial: action.trial };
    case "view":
      return withView(before, action.view, action.source_rates);
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
      return { ...before, uploads: withUploads(before.uploads, action.uploads) };
  }
}

/** Whether the view on the screen does not answer the last question yet. */
export function isAwaiting(now: State): boolean {
  return now.view !== null && now.refusal === null && now.view.query !== now.asked;
}

function withView(before: State, view: View, source_rates: number[]): State {
  // Until it receives a question the server answers a default one, without a filter or a kind:
  // showing that would flash the unfiltered numbers under the chips of a filter.
  const isDefault = view.query === 0 && before.refusal === null;
  if (isDefault && (hasFilter(before.question) || before.question.kind !== null)) return before;
  const isOlder = before.view !== null && view.query < before.view.query;
  if (isOlder && before.refusal === null) return before;
  return { ...before, view, source_rates };
}

function withUploads(before: Upload[], changed: Upload[]): Upload[] {
  const byFile = new Map(before.map((upload) => [upload.file, upload]));
  for (const upload of changed) byFile.set(upload.file, upload);
  return [...byFile.values()];
}
