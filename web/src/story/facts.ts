/** The facts in the story of a client, from its report and from the rules that it crossed. */

import { duration, span } from "../format/duration";
import { count, plural, share, trimmed } from "../format/number";
import { instantSeconds, parseStamp, rangeText, stampText } from "../format/time";
import type { Histogram } from "../generated/Histogram";
import type { ReplayedKey } from "../generated/ReplayedKey";
import type { ReplayedRule } from "../generated/ReplayedRule";
import type { Report } from "../generated/Report";
import { boundsText } from "../rules/words";

/** The longest silences that are told. */
const GAPS_MAX = 3;

/** A silence of at least this many steps is told. */
const GAP_STEPS_MIN = 3;

/** Statuses with which a server, or a rule in it, refuses requests. */
const REFUSALS = new Set(["403", "429", "444", "503"]);

/** A time without a request. */
export interface Gap {
  /** The start of the first step without a request. */
  from: string;
  /** The start of the next step with one. */
  to: string;
  seconds: number;
}

/** The longest times without a request between the first and the last one, in their order. */
export function gapsOf({ buckets, step_s }: Histogram): Gap[] {
  const gaps: Gap[] = [];
  let before = -1;
  for (const [at, { count, start }] of buckets.entries()) {
    if (count === 0) continue;
    const from = buckets[before + 1]?.start;
    if (before >= 0 && from !== undefined && at - before - 1 >= GAP_STEPS_MIN) {
      gaps.push({ from, to: start, seconds: secondsBetween(from, start) });
    }
    before = at;
  }
  const longest = [...gaps].sort((one, other) => other.seconds - one.seconds).slice(0, GAPS_MAX);
  return gaps.filter((gap) => longest.includes(gap) && gap.seconds >= GAP_STEPS_MIN * step_s);
}

/** A pause after which the requests of a client are another session, in seconds. */
const PAUSE_S = 1_800;

/** Requests that follow one another without a pause. */
export interface Session {
  /** The start of the first step with a request. */
  from: string;
  /** The end of the last one. */
  to: string;
  requests: number;
}

/**
 * The sessions of a client, in their order: requests with no pause of half an hour between them. Empty
 * if the steps are too long to tell, because a pause has to be at least three of them.
 */
export function sessionsOf({ buckets, step_s, until }: Histogram): Session[] {
  if (step_s * GAP_STEPS_MIN > PAUSE_S) return [];
  const sessions: Session[] = [];
  const pauseSteps = PAUSE_S / step_s;
  let last = Number.NEGATIVE_INFINITY;
  for (const [at, { count, start }] of buckets.entries()) {
    if (count === 0) continue;
    const to = buckets[at + 1]?.start ?? until;
    const session = sessions.at(-1);
    if (session === undefined || at - last - 1 >= pauseSteps)
      sessions.push({ from: start, to, requests: count });
    else Object.assign(session, { to, requests: session.requests + count });
    last = at;
  }
  return sessions;
}

/** A session as a line of a list. */
export function sessionText({ from, to, requests }: Session): string {
  return `${rangeText(from, to)}: ${plural(requests, "request")}`;
}

/** A silence as a sentence. */
export function gapText({ from, to, seconds }: Gap): string {
  return `No request for about ${span(seconds)}: ${rangeText(from, to)}.`;
}

/** How many requests there were, when, and how they ended. */
export function totalsText({ matching, time, errors, absent }: Report): string {
  const parts = [plural(matching, "request")];
  const { first, last } = time;
  if (first && last) {
    parts.push(
      first === last
        ? `at ${stampText(first)}`
        : `from ${stampText(first)} to ${stampText(last)}, within ${duration(secondsBetween(first, last))}`,
    );
  }
  const failed = absent.includes("errors")
    ? ""
    : ` ${count(errors)} of them ended with an error (${share(errors, matching)}).`;
  return `${parts.join(" ")}.${matching > 0 ? failed : ""}`;
}

/** How many requests were answered as a block answers; `null` if none was. */
export function refusedText({ top, matching }: Report): string | null {
  const refused = (top.status ?? []).filter(({ value }) => REFUSALS.has(value));
  if (refused.length === 0) return null;
  const all = refused.reduce((sum, row) => sum + row.count, 0);
  const each = refused.map((row) => `${count(row.count)} with ${row.value}`).join(", ");
  return `The server refused ${count(all)} of ${count(matching)}: ${each}.`;
}

/** What a rule would have done with the client, as a sentence. */
export function ruleText(rule: ReplayedRule, client: string): string {
  const keys = [...rule.trips, ...rule.closest].filter(({ key }) => key === client);
  const texts = keys.map((key) => keyText(key));
  const bans = rule.bans.filter(({ key, already_banned }) => key === client && !already_banned);
  if (bans[0]) texts.push(`${plural(bans.length, "ban")}, first ${stampText(bans[0].time)}`);
  const alerts = rule.alerts.filter(({ source }) => source === client);
  if (alerts[0])
    texts.push(`${plural(alerts.length, "alert")}, first ${stampText(alerts[0].time)}`);
  if (texts.length > 0) return `${texts.join("; ")}.`;
  const { tripped, seen } = rule.keys;
  if (tripped > 0) return `${count(tripped)} of its ${plural(seen, "key")} tripped it.`;
  return seen > 0 ? "It stayed below." : "It sees none of its requests.";
}

function keyText(key: ReplayedKey): string {
  const { verdict, peak, margin, time, delayed, limit } = key;
  const name = limit === undefined ? "" : `${limit}: `;
  const worst = `peak ${trimmed(peak, 1)}`;
  if (verdict === "rejected") {
    return (
      `${name}tripped, first ${stampText(time)}: ${worst}, ${trimmed(margin, 1)} over, ` +
      rejectedText(key)
    );
  }
  if (verdict === "delayed") return `${name}${plural(delayed, "request")} delayed, ${worst}`;
  if (verdict === "undecided" && key.likely_rejected) {
    return `${name}likely tripped: ${worst}, ${rejectedText(key)}`;
  }
  if (verdict === "undecided") return `${name}undecided, ${worst}`;
  return `${name}stayed below, ${worst}, ${trimmed(-margin, 1)} to spare`;
}

function rejectedText({ rejected, undecided, likely_rejected }: ReplayedKey): string {
  if (likely_rejected === undefined) return `${plural(rejected, "request")} rejected`;
  return `about ${plural(likely_rejected, "request")} rejected${boundsText(rejected, undecided)}`;
}

function secondsBetween(from: string, to: string): number {
  const [start, end] = [parseStamp(from), parseStamp(to)];
  return start && end ? instantSeconds(end) - instantSeconds(start) : 0;
}
