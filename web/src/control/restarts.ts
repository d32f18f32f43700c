/** Restarts of the program, as a page sees them that was left open. */

import type { View } from "../generated/View";
import type { Host } from "../socket/host";
import { hasLines } from "../state/state";

/**
 * How long the numbers of the process before stay on the screen, at most, until the next one has
 * read its first lines. Without this the page would flash empty at each restart.
 */
export const HOLD_MS = 2_000;

/** What to do with a view. */
export type Change =
  /** Show it. */
  | "same"
  /** Show it; it is the first of another process that is shown. */
  | "new"
  /** Do not show it: another process has only begun. */
  | "hold";

/** Tells apart the views of a process and of the next one with the same name. */
export class Restarts {
  /** When the first view of another process arrived; `null` if it is shown. */
  private heldSince_ms: number | null = null;

  constructor(private readonly host: Pick<Host, "now">) {}

  /** Says what to do with a view after the one on the screen. */
  take(shown: View | null, view: View): Change {
    if (shown === null || shown.started_unix_ms === view.started_unix_ms) {
      this.heldSince_ms = null;
      return "same";
    }
    const now_ms = this.host.now();
    this.heldSince_ms ??= now_ms;
    const isEmpty = hasLines(shown) && !hasLines(view) && !view.complete;
    if (isEmpty && now_ms - this.heldSince_ms < HOLD_MS) return "hold";
    this.heldSince_ms = null;
    return "new";
  }
}
