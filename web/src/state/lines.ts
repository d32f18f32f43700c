/** The slice of the lists of lines: that of the filter, and that of a client's story. */

import type { ShownLine } from "../lines/shown";
import type { Action } from "./action";

/** What is known of the lines of one selection. */
export interface Lines {
  /** The number of the selection: another one begins at its first line. */
  selection: number;
  /** The number of all lines; `null` before the first answer. */
  total: number | null;
  /** Those that were fetched, by their numbers from 0. */
  shown: ReadonlyMap<number, ShownLine>;
  /** Why lines of some sources cannot be read. */
  messages: readonly string[];
  /** The sources of all lines, by their numbers. */
  sources: readonly number[];
  /** Whether memory ran out, so that lines may be missing. */
  isEstimated: boolean;
  /** Why there are no lines. */
  refusal: string | null;
}

/** The lists of the page by their names. */
export type ListName = "filtered" | "story";

export interface LinesSlice {
  lists: Record<ListName, Lines>;
}

export type LinesAction = { type: "lines"; list: ListName; lines: Lines };

export const NO_LINES: Lines = {
  selection: 0,
  total: null,
  shown: new Map(),
  messages: [],
  sources: [],
  isEstimated: false,
  refusal: null,
};

export const NO_LISTS: LinesSlice = {
  lists: { filtered: NO_LINES, story: NO_LINES },
};

/** Returns the slice after an action. */
export function reduceLines(before: LinesSlice, action: Action): LinesSlice {
  switch (action.type) {
    case "lines":
      return { ...before, lists: { ...before.lists, [action.list]: action.lines } };
    default:
      return before;
  }
}
