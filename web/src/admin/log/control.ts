/** Reading the log, and changing its filter. */

import type { LogTail } from "../../generated/LogTail";
import { ask, askNow, failureText } from "../ask";
import { log, update } from "../store";
import { withTail } from "./events";

let isAsking = false;
/** Whether the message on the screen is about a question that failed. */
let hasFailed = false;

/** Asks for the messages that came since the last answer. */
export async function lookAtLog(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  try {
    const tail = await askNow<LogTail>(`/log.json?from=${log.peek().next}`);
    update("log", withTail(log.peek(), tail));
    if (hasFailed) say("", false);
    hasFailed = false;
  } catch (error) {
    hasFailed = true;
    say(failureText(error), true);
  } finally {
    isAsking = false;
  }
}

/** Replaces the filter of the log. */
export async function changeFilter(filter: string): Promise<void> {
  try {
    const answer = await ask("/log/filter", { method: "POST", body: filter });
    say(`The filter is now ${(await answer.text()).trim()}`, false);
    await lookAtLog();
  } catch (error) {
    say(failureText(error), true);
  }
}

function say(message: string, isBad: boolean): void {
  update("log", { message, isBad });
}
