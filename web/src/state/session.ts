/** How the slice of the session changes: its question, its answer, its uploads. */

import type { SelectionCount } from "../generated/SelectionCount";
import type { View } from "../generated/View";
import type { Action } from "./action";
import {
  type Connection,
  type DataSet,
  type Duplicates,
  hasFilter,
  INITIAL,
  type Question,
  type State,
  type Trial,
  type Upload,
} from "./state";

export type SessionAction =
  | { type: "session"; session: string | null }
  | { type: "served"; name: string | null }
  | { type: "question"; question: Question }
  /** The answer to a changed question is late. */
  | { type: "late" }
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

/** Returns the state after an action; the same object if nothing changes. */
export function reduceSession(before: State, action: Action): State {
  return withShown(changed(before, action), action);
}

/** Shows a changed question with its answer, or without one once that is late. */
function withShown(now: State, action: Action): State {
  if (now.question === now.shown) return now;
  const mayBeAnswered = isAwaiting(now) || (action.type === "question" && now.view !== null);
  return mayBeAnswered && action.type !== "late" ? now : { ...now, shown: now.question };
}

function changed(before: State, action: Action): State {
  switch (action.type) {
    case "session":
      return action.session === before.session
        ? before
        : {
            ...INITIAL,
            session: action.session,
            served: before.served,
            question: before.question,
            shown: before.shown,
            asked: before.asked,
            uploads: before.uploads,
            follow: before.follow,
          };
    case "served":
      return { ...before, served: action.name };
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
    default:
      return before;
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
  const isLost = ["lost", "blocked", "locked", "gone"].includes(connection);
  const question = isLost && isAwaiting(before) ? before.answered : null;
  return { ...before, connection, typedCount: null, question: question ?? before.question };
}

function withUploads(before: Upload[], changed: Upload[]): Upload[] {
  const byFile = new Map(before.map((upload) => [upload.file, upload]));
  for (const upload of changed) byFile.set(upload.file, upload);
  return [...byFile.values()];
}
