/** The state of the page, and the only place that changes it. */

import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { SelectionCount } from "../generated/SelectionCount";
import type { View } from "../generated/View";
import {
  type Connection,
  canAsk,
  type DataSet,
  type Duplicates,
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
  | { type: "counted"; count: SelectionCount | null }
  | { type: "connection"; connection: Connection }
  | { type: "refused"; message: string }
  | { type: "notice"; message: string | null }
  | { type: "follow"; follow: boolean }
  | { type: "uploads"; uploads: Upload[] }
  | { type: "forgotten"; file: string }
  | { type: "duplicates"; duplicates: Duplicates | null }
  | { type: "freeable"; freeable: DataSet[] | null };

const current = signal<State>(INITIAL);

/** The state, read-only. */
export const state: ReadonlySignal<State> = current;

/**
 * Parts of the state. A component that reads one of them is not rendered again when another part
 * changes, such as the progress of an upload, which changes many times a second.
 */
export const view = computed(() => current.value.view);
export const typedCount = computed(() => current.value.typedCount);
export const awaiting = computed(() => isAwaiting(current.value));
/** Whether the numbers on the screen may be old, because the server does not answer. */
export const stale = computed(() => current.value.view !== null && !canAsk(current.value));

/** A changed question is shown after this time, if its answer has not arrived. */
const PATIENCE_MS = 60;

const shownQuestion = signal<Question>(INITIAL.question);
/**
 * The question on the screen. A changed one is shown together with its answer, so that a gesture
 * is drawn once; what a gesture changes is the question of the state.
 */
export const question: ReadonlySignal<Question> = shownQuestion;
let patience: ReturnType<typeof setTimeout> | undefined;

/** Applies an action to the state. */
export function dispatch(action: Action): void {
  batch(() => {
    current.value = reduce(current.value, action);
    const { question, view } = current.value;
    if (question === shownQuestion.value) return;
    if (action.type === "question" && view !== null) {
      patience ??= setTimeout(showQuestion, PATIENCE_MS);
    } else if (!isAwaiting(current.value)) {
      showQuestion();
    }
  });
}

function showQuestion(): void {
  clearTimeout(patience);
  patience = undefined;
  shownQuestion.value = current.value.question;
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
    case "counted":
      return { ...before, typedCount: action.count };
    case "connection":
      return withConnection(before, action.connection);
    case "refused":
      return { ...before, refusal: action.message };
    case "notice":
      return { ...before, notice: action.message };
    case "follow":
      return { ...before, follow: action.follow };
    case "uploads":
      return { ...before, uploads: withUploads(before.uploads, action.uploads) };
    case "forgotten":
      return {
        ...before,
        uploads: before.uploads.filter((upload) => upload.file !== action.file),
      };
    case "duplicates":
      return { ...before, duplicates: action.duplicates };
    case "freeable":
      return { ...before, freeable: action.freeable };
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
  const answered = view.query === before.asked ? before.question : before.answered;
  return { ...before, view, source_rates, answered };
}

/** Without a connection the old numbers stay, and with them the question that they answer. */
function withConnection(before: State, connection: Connection): State {
  if (before.connection === connection) return before;
  const isLost = connection === "lost" || connection === "gone";
  const question = isLost && isAwaiting(before) ? before.answered : null;
  return { ...before, connection, typedCount: null, question: question ?? before.question };
}

function withUploads(before: Upload[], changed: Upload[]): Upload[] {
  const byFile = new Map(before.map((upload) => [upload.file, upload]));
  for (const upload of changed) byFile.set(upload.file, upload);
  return [...byFile.values()];
}
