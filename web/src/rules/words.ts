/** The answer to a panel in sentences. */

import { count, plural } from "../format/number";
import { capitalized } from "../format/text";
import type { Exactness } from "../generated/Exactness";
import type { KeyCounts } from "../generated/KeyCounts";
import type { LeftOutRules } from "../generated/LeftOutRules";
import type { ReplayedRule } from "../generated/ReplayedRule";
import type { RequestCounts } from "../generated/RequestCounts";
import type { RuleComparison } from "../generated/RuleComparison";
import type { RulesAnswer } from "../generated/RulesAnswer";
import type { Verdict } from "../generated/Verdict";

const EXACTNESS: Record<Exactness, string> = {
  exact: "Exact, decision for decision.",
  bounded: "Certain, except what the log leaves undecided.",
  assumed:
    "Rejections are certain; the others hold unless a rule matches that tests what the log does not have.",
  band: "A range, because the algorithm is not published.",
  nothing: "There is no verdict.",
};

export const VERDICTS: Record<Verdict, string> = {
  passed: "within",
  delayed: "delayed",
  rejected: "trips",
  undecided: "undecided",
};

/** The caveat of every replay. */
export const CAVEAT = "Recorded traffic already reflects the limits that were in force.";

const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)$/;

/** Whether a key of a rule is the address of a client. */
export function isClient(key: string): boolean {
  return ADDRESS.test(key);
}

/** The word for the keys of a rule. A client has a key for each of several limits. */
export function keyWords({ trips, closest }: ReplayedRule): { one: string; many: string } {
  const areClients = [...trips, ...closest].every(
    ({ key, limit }) => limit === undefined && isClient(key),
  );
  return areClients ? { one: "client", many: "clients" } : { one: "key", many: "keys" };
}

/** The word for the verdict about a key, whose requests may only be likely to be rejected. */
export function verdictWord(verdict: Verdict, isLikely: boolean): string {
  return verdict === "undecided" && isLikely ? "likely trips" : VERDICTS[verdict];
}

/** ` (3 for certain, at most 7)`; nothing if the number is known. */
export function boundsText(least: number, undecided: number): string {
  if (undecided === 0) return "";
  return ` (${least === 0 ? "none" : count(least)} for certain, at most ${count(least + undecided)})`;
}

function undecidedText(undecided: number): string {
  return `${count(undecided)} ${undecided > 1 ? "are" : "is"} undecided`;
}

/**
 * `Of 812 clients, 3 trip the rule, and 2 are undecided.` With an estimate `Of 812 clients, about 4
 * trip the rule (3 for certain, at most 5).`
 */
export function keysText(rule: ReplayedRule): string {
  const { one, many } = keyWords(rule);
  const { seen, tripped, undecided }: KeyCounts = rule.keys;
  if (seen === 0) return "Nothing was evaluated.";
  if (rule.estimate && undecided > 0) {
    const { keys } = rule.estimate;
    const likely =
      keys === 0 ? "likely none trips" : `about ${count(keys)} ${keys > 1 ? "trip" : "trips"}`;
    return `Of ${plural(seen, one, many)}, ${likely} the rule${boundsText(tripped, undecided)}.`;
  }
  const trip = `${tripped === 0 ? "none" : count(tripped)} ${tripped > 1 ? "trip" : "trips"}`;
  const open = undecided > 0 ? `, and ${undecidedText(undecided)}` : "";
  return `Of ${plural(seen, one, many)}, ${trip} the rule${open}.`;
}

/**
 * `Of 9,000 requests it passes 8,000, delays 400 and rejects 600.` With an estimate `Of 9,000
 * requests, it rejects about 640 (600 for certain, at most 700).`
 */
export function requestsText({ requests, estimate }: ReplayedRule): string {
  const { passed, delayed, rejected, undecided }: RequestCounts = requests;
  const all = passed + delayed + rejected + undecided;
  if (all === 0) return "";
  if (estimate && undecided > 0) {
    const bounds = boundsText(rejected, undecided);
    return `Of ${plural(all, "request")}, it rejects about ${count(estimate.rejected)}${bounds}.`;
  }
  const parts = [`passes ${count(passed)}`];
  if (delayed > 0) parts.push(`delays ${count(delayed)}`);
  parts.push(`rejects ${count(rejected)}`);
  const last = parts.pop()!;
  const open = undecided > 0 ? `; ${undecidedText(undecided)}` : "";
  return `Of ${plural(all, "request")}, it ${parts.join(", ")} and ${last}${open}.`;
}

/** `It looked at 9,000 lines, 8,900 of them records, and applies to 120.`, or why there is none. */
export function lookedAtText({ looked_at }: ReplayedRule): string {
  const { lines, records, evaluated, unparsed, dated, nothing } = looked_at;
  const found =
    dated === undefined ? `${count(records)} of them records` : `${count(dated)} with a date`;
  const missed = unparsed > 0 ? `, ${count(unparsed)} in no known format` : "";
  const sentence = `It looked at ${plural(lines, "line")}, ${found}${missed}, and applies to ${count(evaluated)}.`;
  return nothing === undefined ? sentence : `${asSentence(nothing)} ${sentence}`;
}

/** A note as a sentence. */
export function asSentence(note: string): string {
  return `${capitalized(note)}${/[.!?]$/.test(note) ? "" : "."}`;
}

/** How far the answer can be relied on. */
export function exactnessText({ exactness, not_followed = [] }: ReplayedRule): string {
  const text = EXACTNESS[exactness];
  if (not_followed.length === 0) return text;
  return `${text} Parts of the rule were not followed, which may change verdicts.`;
}

/** `28 (950130, 950140 and others): RESPONSE_BODY is not in an access log.` */
export function leftOutText({ reason, rules, first_ids }: LeftOutRules): string {
  const others = rules > first_ids.length ? " and others" : "";
  const ids = first_ids.length > 0 ? ` (${first_ids.join(", ")}${others})` : "";
  return `${count(rules)}${ids}: ${reason}.`;
}

/** The answer in a line: `1 rule, 3 clients tripped it`. */
export function briefText({ rules }: RulesAnswer): string {
  const [first] = rules;
  if (rules.length !== 1 || !first) {
    const tripped = rules.filter(({ rule }) => likelyKeys(rule) > 0 || rule.bans.length > 0);
    return `${plural(rules.length, "rule")}, ${count(tripped.length)} tripped`;
  }
  const { one, many } = keyWords(first.rule);
  const tripped = likelyKeys(first.rule);
  return `1 rule, ${tripped === 0 ? `no ${one}` : plural(tripped, one, many)} tripped it`;
}

/** The keys that trip the rule, certainly or likely. */
function likelyKeys({ keys, estimate }: ReplayedRule): number {
  return estimate?.keys ?? keys.tripped;
}

/** `This rule rejects 400 requests, the other 620.` */
export function comparedRequests({ first, second }: RuleComparison): string {
  const open = first.undecided_keys + second.undecided_keys;
  const rest = open > 0 ? " Undecided clients count as caught if that is likely." : "";
  const about = first.undecided + second.undecided > 0 ? "about " : "";
  return (
    `This rule rejects ${about}${plural(first.rejected, "request")}, the other ${about}` +
    `${count(second.rejected)}.${rest}`
  );
}
