import type { Clause } from "../generated/Clause";
import type { ConditionPlace } from "../generated/ConditionPlace";
import type { RecordKind } from "../generated/RecordKind";
import type { SelectionCount } from "../generated/SelectionCount";
import type { View } from "../generated/View";
import { STATUS_CLASS } from "../generated/words";
import type { Duration, Measure } from "./measure";

/** What the page asks for. A question gets an id when it is sent. */
export interface Question {
  /** Joined with the conditions by *and*. */
  clauses: Clause[];
  /** Conditions as text, which no clause can state: `status=4xx or googlebot`. */
  conditions: string[];
  /** The field by which the histogram is stacked. */
  stack: string;
  /** Rows of each top list. */
  top: number;
  zone: string | null;
  /** The kind of records; `null` leaves the choice to the server. */
  kind: RecordKind | null;
  /** Whether blocks and firewall events are laid over the requests. */
  hasOverlay: boolean;
  /** What the chart and the lists count. */
  measure: Measure;
  /** The duration that they show; `null` for the first that the records have. */
  duration: Duration | null;
}

export const DEFAULT_QUESTION: Question = {
  clauses: [],
  conditions: [],
  stack: STATUS_CLASS,
  top: 10,
  zone: null,
  kind: null,
  hasOverlay: false,
  measure: "requests",
  duration: null,
};

/** How the attempt to change the question ended. */
export interface TrialOutcome {
  isAccepted: boolean;
  /** Why the server refused it; `null` also if another change came first. */
  refusal: string | null;
  /** The part of a condition that was refused. */
  place: ConditionPlace | null;
}

/** A question that becomes the current one when its answer arrives. */
export interface Trial {
  query: number;
  question: Question;
  /** `null` until it has ended. */
  outcome: TrialOutcome | null;
}

/** The connection to the server. */
export type Connection =
  /** No session, so nothing to connect to. */
  | "none"
  | "opening"
  | "open"
  /** It broke; the page keeps reconnecting. */
  | "lost"
  /** The server answers over HTTP, but no WebSocket opens; the page keeps trying. */
  | "blocked"
  /** The server asks for its access token; the page keeps trying. */
  | "locked"
  /** The server no longer has the session. */
  | "gone";

export type UploadPhase =
  | "waiting"
  | "reading"
  /** Read to its end; appended lines will be read. */
  | "following"
  /** Waits for lines from a socket. */
  | "listening"
  | "interrupted"
  /** Its upload broke off, and this page does not have the file: it was loaded again. */
  | "orphaned"
  | "done"
  | "failed"
  | "cancelled";

/** A file that this page uploads. */
export interface Upload {
  /** Its id in the session. */
  file: string;
  session: string;
  name: string;
  phase: UploadPhase;
  /** `null` if the file keeps growing. */
  bytes_total: number | null;
  /** Bytes that the server has parsed. */
  bytes_done: number;
  bytes_per_second: number;
  message: string | null;
  /** Whether the file can be followed from its end. */
  isFollowable: boolean;
}

/** Files that the session already has, until the person decides about them. */
export interface Duplicates {
  names: string[];
}

/** A data set that this browser has opened. */
export interface DataSet {
  session: string;
  name: string;
}

/** The session on the screen: its question, its answer and what is uploaded. */
export interface State {
  session: string | null;
  /** The name of the data set that the program serves, which is its session. */
  served: string | null;
  question: Question;
  /** The question on the screen: the same, or the one before until the answer has arrived. */
  shown: Question;
  /** Id of the last question sent. */
  asked: number;
  /** The question that the view answers; `null` before the first answer. */
  answered: Question | null;
  /** The newest answer; stays while the next one is awaited or the connection is lost. */
  view: View | null;
  connection: Connection;
  /** The last question that was tried without becoming the current one first. */
  trial: Trial | null;
  /** What the text in the filter box would select; `null` if that is not known. */
  typedCount: SelectionCount | null;
  /** Why the server refused the last question. */
  refusal: string | null;
  /** A message that the person can dismiss. */
  notice: string | null;
  uploads: Upload[];
  duplicates: Duplicates | null;
  /** Data sets that could make room for a new one, when the server has no room left. */
  freeable: DataSet[] | null;
  /** Whether added files are followed, if the browser can. */
  follow: boolean;
  /** Reading speed of each source of the view, in bytes a second. */
  source_rates: number[];
}

export const INITIAL: State = {
  session: null,
  served: null,
  question: DEFAULT_QUESTION,
  shown: DEFAULT_QUESTION,
  asked: 0,
  answered: null,
  view: null,
  connection: "none",
  trial: null,
  typedCount: null,
  refusal: null,
  notice: null,
  uploads: [],
  duplicates: null,
  freeable: null,
  follow: false,
  source_rates: [],
};

/** Whether a question has a filter. */
export function hasFilter(question: Question): boolean {
  return question.clauses.length > 0 || question.conditions.length > 0;
}

/**
 * Whether a question would be answered. The first connection is waited for; one that was lost may
 * never return.
 */
export function canAsk({ connection, view }: State): boolean {
  return connection === "open" || (connection === "opening" && view === null);
}

/** Whether lines have been read, so that there is something to show. */
export function hasLines(view: View | null): boolean {
  return view?.sources.some((source) => source.lines > 0) ?? false;
}
