/** The slice of the help: whether it is shown. */

import type { Action } from "./action";

export type HelpAction = { type: "help"; isShown: boolean };

/** Returns the slice after an action. A story takes the place of the help. */
export function reduceHelp(before: boolean, action: Action): boolean {
  if (action.type === "help") return action.isShown;
  return action.type === "story" && action.of !== null ? false : before;
}
