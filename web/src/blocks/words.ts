/** The blocks panel in sentences. */

import { count, plural } from "../format/number";
import { capitalized } from "../format/text";
import { instantSeconds, parseStamp } from "../format/time";
import type { BlockClock } from "../generated/BlockClock";
import type { BlockedClient } from "../generated/BlockedClient";
import type { BlocksReport } from "../generated/BlocksReport";
import type { RuleAnswer } from "../generated/RuleAnswer";
import { marksText, profileText } from "../rules/looks";

/** `1,204 blocks of 3 addresses`. */
export function countsText({ blocks, addresses }: BlocksReport): string {
  return `${plural(blocks, "block")} of ${plural(addresses, "address", "addresses")}`;
}

/** The sentence about a client, without the address at its beginning. */
export function restOfSentence({ client, sentence }: BlockedClient): string {
  const rest = sentence.startsWith(client) ? sentence.slice(client.length) : ` ${sentence}`;
  return `${rest}.`;
}

/** Who the address is, by its requests, and what it asked for most. */
export function looksText({ profile, before }: BlockedClient): string {
  const parts: string[] = [];
  if (profile) parts.push(`Looks like: ${marksText(profile)}`, profileText(profile));
  const { requests, target } = before;
  if (target && target.requests < requests) {
    parts.push(
      `before the first block most often ${target.value} (${count(target.requests)} of ${count(requests)})`,
    );
  }
  const text = capitalized(parts.join("; "));
  return text === "" ? "" : `${text}.`;
}

/** What is known of the clocks of the two logs. */
export function clockText({ offset_s, estimate }: BlockClock): string {
  if (estimate === null) {
    return offset_s === 0
      ? "Whether the clock of the blocks is that of the requests cannot be told."
      : `The clock of the blocks ${aheadText(offset_s)}, as you have set it.`;
  }
  const { agreeing, pairs, by } = estimate;
  const told = `The clock of the blocks ${aheadText(estimate.offset_s)}: ${count(agreeing)} of ${count(pairs)} ${by} agree.`;
  if (offset_s === estimate.offset_s) return told;
  return `${told} You have set that it ${aheadText(offset_s)}.`;
}

function aheadText(offset_s: number): string {
  if (offset_s === 0) return "agrees with that of the requests";
  const side = offset_s > 0 ? "ahead of" : "behind";
  return `is ${durationText(Math.abs(offset_s))} ${side} that of the requests`;
}

const UNITS: [number, string][] = [
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** A duration in its units: `2 h 5 min`. */
export function durationText(seconds: number): string {
  const parts: string[] = [];
  let rest = seconds;
  for (const [size, unit] of UNITS) {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    if (whole > 0) parts.push(`${whole} ${unit}`);
  }
  return parts.join(" ") || "0 s";
}

const OFFSET_S_MAX = 172_800;
const DURATION = /^([+−-]?)\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m(?:in)?)?\s*(?:(\d+)\s*s)?$/;

/** The seconds of `2h`, `-1h 30min` or `90s`; `null` if the text is not an offset. */
export function parseOffset(text: string): number | null {
  const match = DURATION.exec(text.trim());
  if (!match) return text.trim() === "0" ? 0 : null;
  const [, sign, ...numbers] = match;
  if (numbers.every((number) => number === undefined)) return null;
  const [hours, minutes, seconds] = numbers.map((number) => Number(number ?? 0));
  const length = hours! * 3600 + minutes! * 60 + seconds!;
  if (length > OFFSET_S_MAX) return null;
  return sign === "-" || sign === "−" ? -length : length;
}

/** A rule of the rules panel that a client crossed. */
export interface Crossing {
  rule: string;
  /** Seconds from the crossing to the first block; negative if the block came first. */
  before_s: number | null;
}

/** The rules of the rules panel that a client crossed. */
export function crossings(
  client: BlockedClient,
  rules: readonly RuleAnswer[],
  offset_s: number,
): Crossing[] {
  return rules.flatMap(({ rule }) => {
    const trip = rule.trips.find(({ key }) => key === client.client);
    const ban = rule.bans.find(({ key }) => key === client.client);
    const time = trip?.time ?? ban?.time;
    if (time === undefined) return [];
    const crossed = parseStamp(time);
    const first = client.first === null ? null : parseStamp(client.first);
    const before_s = crossed && first && instantSeconds(first) - offset_s - instantSeconds(crossed);
    return [{ rule: rule.name, before_s }];
  });
}

/** `crossed one 5 s before the first block`. */
export function crossingText({ rule, before_s }: Crossing): string {
  if (before_s === null) return `crosses ${rule}`;
  const whole = Math.floor(Math.abs(before_s));
  if (whole === 0) return `crosses ${rule} at the first block`;
  return `crosses ${rule} ${durationText(whole)} ${before_s > 0 ? "before" : "after"} the first block`;
}
