/** The help: how conditions are written, and which keys there are. */

import { filterBy } from "../control/questions";
import { dispatch, help, state } from "../state/store";

/** Shows the help. */
export function showHelp(): void {
  dispatch({ type: "help", isShown: true });
}

/** Closes the help; returns whether it was shown. */
export function closeHelp(): boolean {
  const wasShown = help.peek();
  if (wasShown) dispatch({ type: "help", isShown: false });
  return wasShown;
}

/** Adds a condition to the filter. */
export function tryCondition(text: string): void {
  const { clauses, conditions } = state.peek().question;
  if (!conditions.includes(text)) filterBy(clauses, [...conditions, text]);
}
