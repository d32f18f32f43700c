/** The slice of the menu that saves what is on the screen. */

import type { Action } from "./action";

/** The formats of rows. */
export type RowFormat = "csv" | "jsonl" | "parquet" | "arrow";

/** What has been saved, or is being read. */
export interface Outcome {
  text: string;
  /** Whether lines are being read, which can be stopped. */
  isReading: boolean;
}

/** What is known of all lines once the first one is read. */
export interface Probe {
  /** Why the lines cannot be read; `null` if no reason is known. */
  problem: string | null;
  /** The numbers of the sources that have lines of the selection; `null` if that is not known. */
  sources: readonly number[] | null;
}

export interface SaveSlice {
  /** The outcome of the last choice. */
  outcome: Outcome;
  /** What is known of the lines of the question on the screen. */
  probe: Probe;
  /** The format of rows that was chosen last. */
  format: RowFormat;
}

export interface SaveAction {
  type: "save";
  part: Partial<SaveSlice>;
}

export const NOTHING_SAVED: SaveSlice = {
  outcome: { text: "", isReading: false },
  probe: { problem: null, sources: null },
  format: "csv",
};

/** Returns the slice after an action. */
export function reduceSave(before: SaveSlice, action: Action): SaveSlice {
  return action.type === "save" ? { ...before, ...action.part } : before;
}
