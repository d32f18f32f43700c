/** The good clients that a rule catches, in words. Pure functions. */

import { count, plural } from "../format/number";
import type { Collateral } from "../generated/Collateral";
import type { GoodReason } from "../generated/GoodReason";
import type { RuleAnswer } from "../generated/RuleAnswer";
import { peaksAbove, stopsOf } from "./limit";

const REASONS: Record<GoodReason, { one: string; many: string }> = {
  signed_in: { one: "signed in", many: "signed in" },
  search_crawler: { one: "claimed search crawler", many: "claimed search crawlers" },
  monitor: { one: "claimed monitor", many: "claimed monitors" },
  named_network: { one: "in a network that you named", many: "in networks that you named" },
};

/** Why a client looks good, for its title. */
export const REASON_TITLES: Record<GoodReason, string> = {
  signed_in: "It got with a user what others were challenged for",
  search_crawler: "Its agent is that of a search engine, which is only a claim: anyone can send it",
  monitor: "Its agent is that of a monitor, which is only a claim: anyone can send it",
  named_network: "It is in a network that you named",
};

/** `claimed search crawler`. */
export function reasonText(reason: GoodReason): string {
  return REASONS[reason].one;
}

/**
 * `It would catch 14 clients, 3 of them good: 1 signed in, 2 claimed search crawlers.` With `burst`, the
 * sentence is about that burst.
 */
export function collateralText(
  answer: RuleAnswer,
  collateral: Collateral,
  burst: number | null,
): string {
  if (burst !== null) {
    const stop = stopsOf(answer).find((one) => one.burst === burst);
    const good = peaksAbove(collateral, burst);
    return `burst=${count(burst)} would catch about ${plural(stop?.keys ?? 0, "client")}, ${goodText(good)}.`;
  }
  const { judged, good, reasons, requests } = collateral;
  if (judged === 0) {
    const { estimate, keys } = answer.rule;
    const isOpen = keys.undecided > 0;
    const open = estimate
      ? "It would likely catch no client."
      : "It would catch no client for certain.";
    return isOpen ? open : "It would catch no client.";
  }
  const about = answer.rule.estimate && answer.rule.keys.undecided > 0 ? "about " : "";
  const caught = `It would catch ${about}${plural(judged, "client")}, ${goodText(good)}`;
  if (good === 0) return `${caught}.`;
  const parts = reasons.map(({ reason, keys }) => {
    const { one, many } = REASONS[reason];
    return `${count(keys)} ${keys === 1 ? one : many}`;
  });
  return `${caught}: ${parts.join(", ")}. Of the good, it rejects ${plural(requests, "request")}.`;
}

function goodText(good: number): string {
  return good === 0 ? "none of them known to be good" : `${count(good)} of them good`;
}
