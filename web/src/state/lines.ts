/** The slice of the lists of lines: that of the filter, and that of a client's story. */

import type { LineField } from "../generated/LineField";
import type { LineOrder } from "../generated/LineOrder";
import type { SelectedLine } from "../generated/SelectedLine";
import type { ShownLine } from "../lines/shown";
import type { Action } from "./action";

/** What is known of the lines of one selection. */
export interface Lines {
  /** The number of the selection: another one begins at its first line. */
  selection: number;
  /** By how many lines the list has moved on, because others came before those on the screen. */
  moved: number;
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

/** What is known of the line that is looked at. */
export interface LineDetail {
  /** The line; `null` if none is looked at. */
  line: SelectedLine | null;
  /** The name of its source. */
  source: string;
  /** Its fields; `null` until they are known. */
  fields: readonly LineField[] | null;
  /** The lines around it in its source; `null` unless they were asked for. */
  around: readonly ShownLine[] | null;
}

export interface LinesSlice {
  lists: Record<ListName, Lines>;
  /** The order of the filtered lines. */
  order: LineOrder;
  /** Whether long lines take several rows. */
  isWrapped: boolean;
  detail: LineDetail;
}

export type LinesAction =
  | { type: "lines"; list: ListName; lines: Lines }
  | { type: "lines_view"; part: Partial<Pick<LinesSlice, "order" | "isWrapped">> }
  | { type: "line_detail"; part: Partial<LineDetail> };

export const NO_LINES: Lines = {
  selection: 0,
  moved: 0,
  total: null,
  shown: new Map(),
  messages: [],
  sources: [],
  isEstimated: false,
  refusal: null,
};

export const NO_DETAIL: LineDetail = { line: null, source: "", fields: null, around: null };

export const NO_LISTS: LinesSlice = {
  lists: { filtered: NO_LINES, story: NO_LINES },
  order: "newest",
  isWrapped: false,
  detail: NO_DETAIL,
};

/** Returns the slice after an action. */
export function reduceLines(before: LinesSlice, action: Action): LinesSlice {
  switch (action.type) {
    case "lines":
      return { ...before, lists: { ...before.lists, [action.list]: action.lines } };
    case "lines_view":
      return { ...before, ...action.part };
    case "line_detail":
      return { ...before, detail: { ...before.detail, ...action.part } };
    default:
      return before;
  }
}
