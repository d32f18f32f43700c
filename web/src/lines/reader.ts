/** Asks the server for lines, one question of a panel at a time. */

import type { LineOrder } from "../generated/LineOrder";
import type { LineStart } from "../generated/LineStart";
import type { LinesAnswer } from "../generated/LinesAnswer";
import type { LiveReply } from "../generated/LiveReply";

/** The reply to a panel of lines. */
export type LinesReply = Extract<LiveReply, { type: "lines" }>;

/** An answer, or why there is none. */
export type ReadLines = { answer: LinesAnswer; refusal: null } | { answer: null; refusal: string };

/** The lines of a selection that are asked for. */
export interface WantedLines {
  /** The number of lines before the first one. */
  from: number;
  count: number;
  order?: LineOrder;
  /** A line around which they are, instead of `from`. */
  around?: LineStart;
  /** Whether they have all of their fields. */
  fields?: boolean;
}

/** Sends a question. */
export type Ask = (panel: number, id: number, wanted: WantedLines) => void;

/** The questions of one panel. A newer question replaces the one before. */
export class LineReader {
  private asked = 0;
  private settle: ((read: ReadLines | null) => void) | null = null;

  constructor(
    readonly panel: number,
    private readonly ask: Ask,
  ) {}

  /** Asks for lines; `null` if another question has come first. */
  read(wanted: WantedLines): Promise<ReadLines | null> {
    this.stop();
    this.asked += 1;
    const id = this.asked;
    return new Promise((resolve) => {
      this.settle = resolve;
      this.ask(this.panel, id, wanted);
    });
  }

  /** Cancels the question. */
  stop(): void {
    this.settle?.(null);
    this.settle = null;
  }

  /** Handles a reply, unless it is to an earlier question. */
  take({ panel, query, answer, error }: LinesReply): void {
    if (panel !== this.panel || (query !== null && query !== this.asked)) return;
    const settle = this.settle;
    this.settle = null;
    if (answer) settle?.({ answer, refusal: null });
    else settle?.({ answer: null, refusal: error?.message ?? "There is no answer." });
  }
}
