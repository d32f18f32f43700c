/** Asks the server for lines, one question of a panel at a time. */

import type { LinesAnswer } from "../generated/LinesAnswer";
import type { LiveReply } from "../generated/LiveReply";

/** The reply to a panel of lines. */
export type LinesReply = Extract<LiveReply, { type: "lines" }>;

/** An answer, or why there is none. */
export type ReadLines = { answer: LinesAnswer; refusal: null } | { answer: null; refusal: string };

/** Sends a question. */
export type Ask = (panel: number, id: number, from: number, count: number) => void;

/** The questions of one panel. A newer question replaces the one before. */
export class LineReader {
  private asked = 0;
  private settle: ((read: ReadLines | null) => void) | null = null;

  constructor(
    readonly panel: number,
    private readonly ask: Ask,
  ) {}

  /** Asks for lines; `null` if another question has come first. */
  read(from: number, count: number): Promise<ReadLines | null> {
    this.stop();
    this.asked += 1;
    const id = this.asked;
    return new Promise((resolve) => {
      this.settle = resolve;
      this.ask(this.panel, id, from, count);
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
