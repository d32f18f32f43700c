/** Asks for the paths with the most errors, which no view has. */

import { askList } from "../control/live";
import { dispatch, state } from "../state/store";

/** The number of the list on the connection: that of a whole list, which a wall screen has not. */
export const FAILING = 7;

/** The number of paths. */
const TOP = 5;

let query = 0;
let last = "";

/** Asks, if the question has changed; the answer follows the data. */
export function askFailing(): void {
  const { question, connection, session } = state.value;
  // A connection knows nothing of what was asked on the one before.
  const key = connection === "open" ? JSON.stringify([question, session]) : "";
  if (key === last) return;
  last = key;
  if (key === "") return;
  query += 1;
  askList(FAILING, query, { ...question, top: TOP }, { group: "path", sort: "errors" });
  const list = { query, field: "path", order: key, from: 0 };
  dispatch({ type: "list_asked", panel: FAILING, list });
}

/** Ends that. */
export function endFailing(): void {
  last = "";
  askList(FAILING, query, null);
  dispatch({ type: "list_ended", panel: FAILING });
}
