/** The slice of the route: its last answer, and a minute of what passed its arrows. */

import type { Route } from "../../generated/Route";
import { askNow } from "../ask";
import { type History, withValues } from "../history";
import { route, update } from "../store";
import { flowsOf, lanesOf } from "./lanes";
import { withWork } from "./order";

/** Asks for the route. */
export async function lookAtRoute(): Promise<void> {
  try {
    const answer = await askNow<Route>("/route.json");
    const flows = flowsOf(lanesOf(answer));
    const values = flows.map(({ id, value }) => [id, value] as const);
    const before = route.peek();
    const now_ms = performance.now();
    const history: History = withValues(before.history, values, now_ms);
    const work = withWork(before.work, answer.stages, now_ms);
    update("route", { answer, history, work, failure: null });
  } catch (error) {
    update("route", { failure: error instanceof Error ? error.message : String(error) });
  }
}
