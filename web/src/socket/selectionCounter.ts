import type { Query } from "../generated/Query";
import type { SelectionCount } from "../generated/SelectionCount";
import type { Host } from "./host";

/** Counts begin after this pause in typing: a word that is not complete may take long to search. */
export const PAUSE_MS = 150;

/** Asks what the conditions in a text box select while they are typed. */
export class SelectionCounter {
  /** The id of the last query, whether or not it was sent. */
  private id = 0;
  /** Whether the server was asked and has not answered. */
  private isAsked = false;
  private cancelTimer: () => void = () => {};

  constructor(
    private readonly host: Pick<Host, "later">,
    private readonly send: (query: Query | null) => void,
    private readonly show: (count: SelectionCount | null) => void,
  ) {}

  /** Counts what a query selects after a pause, instead of the one before; `null` counts nothing. */
  count(query: Query | null): void {
    this.stop();
    this.show(null);
    if (query === null) return;
    const sent = { ...query, id: this.id };
    this.cancelTimer = this.host.later(PAUSE_MS, () => {
      this.isAsked = true;
      this.send(sent);
    });
  }

  /** Ends the work on a count. The last one stays on the screen. */
  stop(): void {
    this.id += 1;
    this.cancelTimer();
    if (this.isAsked) this.send(null);
    this.isAsked = false;
  }

  /** Handles an answer, unless it is to an earlier query. */
  answer(count: SelectionCount | null, query: number | null): void {
    if (query !== this.id || !this.isAsked) return;
    this.isAsked = false;
    this.show(count);
  }
}
