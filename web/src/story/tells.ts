/** What an answer about all clients has for a story. */

import type { RuleAnswer } from "../generated/RuleAnswer";

/** Whether an answer about all clients has everything about this one. */
export function tellsOf({ rule, bans, alerts }: RuleAnswer, client: string): boolean {
  const isListed = [...rule.trips, ...rule.closest].some(({ key }) => key === client);
  return isListed && bans === rule.bans.length && alerts === rule.alerts.length;
}
