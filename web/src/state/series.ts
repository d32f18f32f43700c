/** The slice of the measures over time, which the chart shows instead of the number of records. */

import type { LiveReply } from "../generated/LiveReply";
import type { Series } from "../generated/Series";
import type { Action } from "./action";

export type SeriesReply = Extract<LiveReply, { type: "series" }>;

export interface SeriesSlice {
  /** The id of the last question, which its answer repeats; 0 without a question. */
  asked: number;
  /** The bounds of its spans, in seconds since 1970. */
  bounds: readonly number[];
  /** The last answer, and the bounds of its spans. */
  answer: { series: Series; bounds: readonly number[] } | null;
}

export type SeriesAction =
  | { type: "series_asked"; query: number; bounds: readonly number[] }
  | { type: "series_ended" }
  | { type: "series_reply"; reply: SeriesReply };

export const NO_SERIES: SeriesSlice = { asked: 0, bounds: [], answer: null };

/** Returns the slice after an action. */
export function reduceSeries(before: SeriesSlice, action: Action): SeriesSlice {
  switch (action.type) {
    case "series_asked":
      return { ...before, asked: action.query, bounds: action.bounds };
    case "series_ended":
    case "session":
      return NO_SERIES;
    case "series_reply": {
      const { query, answer } = action.reply;
      if (query !== before.asked || !answer) return before;
      return { ...before, answer: { series: answer, bounds: before.bounds } };
    }
    default:
      return before;
  }
}
