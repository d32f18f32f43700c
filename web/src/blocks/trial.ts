/** The text of a rule in force as far as a block log states it, to try it in the rules panel. */

import { trimmed } from "../format/number";
import type { BlockCause } from "../generated/BlockCause";
import type { BlockRule } from "../generated/BlockRule";
import type { BlocksReport } from "../generated/BlocksReport";

/** A rule in force that can be tried. */
export interface Trial {
  /** What the sentence calls it, as in `zone "one"`. */
  label: string;
  /** The text to try. */
  text: string;
  /** A line of a configuration that defines the rule, which is better than what the log states. */
  definition: RegExp;
}

/** Names that need no quotes in a configuration. */
const PLAIN = /^[A-Za-z0-9_.-]{1,60}$/;

const REQUEST_LIMITS: ReadonlySet<BlockCause> = new Set<BlockCause>([
  "request_limit",
  "request_delay",
  "dry_run",
]);

/** The rule to try; `null` if its log says too little, as of a scenario or a packet filter. */
export function trialOf(rule: BlockRule, report: BlocksReport): Trial | null {
  const { cause, name } = rule;
  if (name === null || !PLAIN.test(name)) return null;
  const own = name.replaceAll(".", "\\.");
  if (REQUEST_LIMITS.has(cause)) {
    const definition = new RegExp(`^\\s*limit_req_zone\\s[^#;]*\\szone=${own}:`, "m");
    return { label: `zone "${name}"`, text: limitText(name, report), definition };
  }
  if (cause === "connection_limit") {
    const definition = new RegExp(`^\\s*limit_conn_zone\\s[^#;]*\\szone=${own}:`, "m");
    return { label: `zone "${name}"`, text: connectionText(name), definition };
  }
  if (cause !== "jail") return null;
  return {
    label: `jail ${name}`,
    text: `# fail2ban.log does not state the settings: write those of your jail.local.
[${name}]
filter   = ${name}
maxretry = 5
findtime = 10m
bantime  = 10m`,
    definition: new RegExp(`^\\[${own}\\]`, "m"),
  };
}

/** nginx logs how far each rejected request is over the rate: more than the burst. */
function limitText(zone: string, { clients }: BlocksReport): string {
  const own = clients
    .flatMap(({ rules }) => rules)
    .filter(({ cause, name }) => REQUEST_LIMITS.has(cause) && name === zone);
  const rejected = own.filter(({ cause }) => cause !== "request_delay");
  const excess = rejected.flatMap((rule) => rule.excess?.[0] ?? []);
  const lowest = excess.length > 0 ? Math.min(...excess) : null;
  const burst = lowest === null ? 0 : Math.max(0, Math.ceil(lowest) - 1);
  const isDelayed = own.length > rejected.length;
  const known =
    lowest === null
      ? "The error log does not state an excess, and so not the burst either."
      : `The lowest excess that it rejects is ${trimmed(lowest, 3)}, so the burst is ${burst} at most.`;
  const options = `${burst > 0 ? ` burst=${burst}` : ""}${burst > 0 && !isDelayed ? " nodelay" : ""}`;
  return `# ${known}
# The rate and the key are not in the error log: write those of your limit_req_zone.
limit_req_zone $binary_remote_addr zone=${zone}:10m rate=1r/s;
limit_req zone=${zone}${options};`;
}

function connectionText(zone: string): string {
  return `# The error log does not state the number and the key: write those of your limit_conn.
limit_conn_zone $binary_remote_addr zone=${zone}:10m;
limit_conn ${zone} 10;`;
}

/** A part of a sentence: text, or the name of a rule that can be tried. */
export type SentencePart = string | Trial;

/** Splits the part of a sentence that names rules at those that can be tried. */
export function sentenceParts(sentence: string, trials: readonly Trial[]): SentencePart[] {
  // What follows tells of requests, whose texts may look like the name of a rule.
  const end = sentence.indexOf("; in the ");
  const named = end < 0 ? sentence : sentence.slice(0, end);
  const found: SentencePart[] = [];
  let from = 0;
  for (const trial of [...trials].sort(
    (one, other) => placeIn(named, one) - placeIn(named, other),
  )) {
    const at = named.indexOf(trial.label, from);
    if (at < 0) continue;
    found.push(sentence.slice(from, at), trial);
    from = at + trial.label.length;
  }
  return [...found, sentence.slice(from)];
}

function placeIn(sentence: string, { label }: Trial): number {
  return sentence.indexOf(label);
}
