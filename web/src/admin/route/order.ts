/** The order of the stages in a box: those that fail, then those that work, then idle ones. */

import type { RouteStage } from "../../generated/RouteStage";
import { isIdle } from "./stages";

/** How long a stage keeps its place after it has become idle, so that the list is calm. */
export const CALM_MS = 10_000;

/** When each stage was seen at work, by its key. */
export type WorkTimes = ReadonlyMap<string, number>;

/** The name of a stage among all stages of a route. */
export function keyOf({ stage, name, number }: RouteStage): string {
  return `${stage} ${name} ${number ?? ""}`;
}

/** Notes which of the stages work now, and forgets those that are gone. */
export function withWork(
  times: WorkTimes,
  stages: readonly RouteStage[],
  now_ms: number,
): WorkTimes {
  const noted = new Map<string, number>();
  for (const stage of stages) {
    const key = keyOf(stage);
    const at_ms = isIdle(stage) || stage.rates === undefined ? times.get(key) : now_ms;
    if (at_ms !== undefined && now_ms - at_ms <= CALM_MS) noted.set(key, at_ms);
  }
  return noted;
}

/** Orders the stages of a box. Those that do the same stay in the order of the route. */
export function ordered(stages: readonly RouteStage[], times: WorkTimes): RouteStage[] {
  const rank = (stage: RouteStage) => (stage.is_failing ? 0 : times.has(keyOf(stage)) ? 1 : 2);
  return [...stages].sort((one, other) => rank(one) - rank(other));
}
