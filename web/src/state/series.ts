/** The slice of the measures over time, which the chart shows instead of the number of records. */

import type { Histogram } from "../generated/Histogram";
import type { LiveReply } from "../generated/LiveReply";
import type { Series } from "../generated/Series";
import type { Action } from "./action";
import type { Duration } from "./measure";

export type SeriesReply = Extract<LiveReply, { type: "series" }>;

export interface SeriesSlice {
  /** The id of the last question, which its answer repeats; 0 without a question. */
  asked: number;
  /** What the question is about. */
  about: SeriesSubject;
  /** The last answer, and what it is about. */
  answer: (SeriesSubject & { series: Series }) | null;
}

/** What a series is about. */
export interface SeriesSubject {
  /** The chart whose bars are the spans; `null` without a question. */
  histogram: Histogram | null;
  /** The bounds of the spans, in seconds since 1970. */
  bounds: readonly number[];
  /** The duration by which the records of each span are counted. */
  duration: Duration | null;
}

export type SeriesAction =
  | { type: "series_asked"; query: number; about: SeriesSubject }
  | { type: "series_ended" }
  | { type: "series_reply"; reply: SeriesReply };

export const NO_SERIES: SeriesSlice = {
  asked: 0,
  about: { histogram: null, bounds: [], duration: null },
  answer: null,
};

/** Returns the slice after an action. */
export function reduceSeries(before: SeriesSlice, action: Action): SeriesSlice {
  switch (action.type) {
    case "series_asked":
      return { ...before, asked: action.query, about: action.about };
    case "series_ended":
    case "session":
      return NO_SERIES;
    case "series_reply": {
      const { query, answer } = action.reply;
      if (query !== before.asked || !answer) return before;
      return { ...before, answer: { ...before.about, series: answer } };
    }
    default:
      return before;
  }
}
