import type { Clause } from "../generated/Clause";
import type { View } from "../generated/View";

/** What the page asks, apart from the id that a question gets when it is sent. */
export interface Question {
  clauses: Clause[];
  /** The field that divides the histogram. */
  stack: string;
  /** Rows of each top list. */
  top: number;
  zone: string | null;
}

export const DEFAULT_QUESTION: Question = {
  clauses: [],
  stack: "status_class",
  top: 10,
  zone: null,
};

/** How the page stands with the server. */
export type Connection =
  /** No session, so nothing to connect to. */
  | "none"
  | "opening"
  | "open"
  /** It was open and broke; the page keeps trying. */
  | "lost"
  /** The server answers and does not know the session. */
  | "gone";

export type UploadPhase =
  | "waiting"
  | "reading"
  /** All is read, and what is appended will be. */
  | "following"
  /** Waits for what others send. */
  | "listening"
  | "interrupted"
  | "done"
  | "failed"
  | "cancelled";

/** One file that this page sends. */
export interface Upload {
  /** Its id in the session. */
  file: string;
  session: string;
  name: string;
  phase: UploadPhase;
  /** `null` where it goes on growing. */
  bytes_total: number | null;
  /** Acknowledged, and so parsed. */
  bytes_done: number;
  bytes_per_second: number;
  message: string | null;
  /** True where it can be followed from its end on. */
  isFollowable: boolean;
}

/** Everything that decides what is on the screen. */
export interface State {
  session: string | null;
  question: Question;
  /** Id of the last question sent. */
  asked: number;
  /** The newest answer; kept while the next one is awaited and when the connection breaks. */
  view: View | null;
  connection: Connection;
  /** Why the server did not take the last question. */
  refusal: string | null;
  /** A sentence to the person that they can dismiss. */
  notice: string | null;
  uploads: Upload[];
  /** Files that come are followed, where the browser can. */
  follow: boolean;
  /** Reading speed of the sources that this page does not send, by their place. */
  source_rates: number[];
}

export const INITIAL: State = {
  session: null,
  question: DEFAULT_QUESTION,
  asked: 0,
  view: null,
  connection: "none",
  refusal: null,
  notice: null,
  uploads: [],
  follow: false,
  source_rates: [],
};

/** True where something was read that can be shown. */
export function hasLines(view: View | null): boolean {
  return view?.sources.some((source) => source.lines > 0) ?? false;
}
