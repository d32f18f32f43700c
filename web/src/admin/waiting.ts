/** A question that takes seconds: a profile, a count of calls, the wait for a request. */

import { failureText } from "./ask";

/** How far the question is, and what came of it. */
export interface Waiting {
  /** When it was asked; `null` if none is being answered. */
  begun_ms: number | null;
  /** How long the answer takes. */
  seconds: number;
  message: string;
  isBad: boolean;
}

export const NOT_WAITING: Waiting = { begun_ms: null, seconds: 0, message: "", isBad: false };

/** Runs the work of a question, and notes how it goes. The work returns the message at its end. */
export async function waitFor(
  seconds: number,
  note: (waiting: Partial<Waiting>) => void,
  work: () => Promise<string>,
): Promise<void> {
  note({ begun_ms: performance.now(), seconds, message: "", isBad: false });
  try {
    note({ message: await work() });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") note({ message: "stopped" });
    else note({ message: failureText(error), isBad: true });
  } finally {
    note({ begun_ms: null });
  }
}
