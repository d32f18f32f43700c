/** The limit line: what other bursts of a limit would have caught. Pure functions. */

import type { ReplayedKey } from "../generated/ReplayedKey";
import type { RuleAnswer } from "../generated/RuleAnswer";
import type { Verdict } from "../generated/Verdict";

/** A burst, and the numbers of keys and requests that it catches. */
export interface Stop {
  burst: number;
  keys: number;
  requests: number;
}

/** The bursts at which the line can stand: those of the curve, and that of the limit itself. */
export function stopsOf({ rule, curve }: RuleAnswer): Stop[] {
  if (!curve) return [];
  const { burst, points } = curve;
  const at = points.findIndex((point) => point.burst >= burst);
  if (points[at]?.burst === burst) return points;
  // The curve does not have it, but the rule was replayed with it.
  const own = {
    burst,
    keys: peaksAbove(curve, burst),
    requests: rule.estimate?.rejected ?? rule.requests.rejected,
  };
  return at < 0 ? [...points, own] : [...points.slice(0, at), own, ...points.slice(at)];
}

/**
 * The number of peaks above a burst, of peaks that fall. If a curve lacks some peaks, that many keys
 * at least are above it.
 */
export function peaksAbove({ peaks }: { peaks: readonly number[] }, burst: number): number {
  let low = 0;
  let high = peaks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (peaks[middle]! > burst) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The position of the stop that is closest to a burst on the scale. */
export function closestStop(stops: readonly Stop[], burst: number): number {
  const distance = (at: number) => Math.abs(position(stops[at]!.burst) - position(burst));
  let best = 0;
  for (let at = 1; at < stops.length; at++) if (distance(at) < distance(best)) best = at;
  return best;
}

/** Where a burst or a peak lies on a scale that has room for small and for large ones. */
export function position(burst: number): number {
  return Math.log1p(Math.max(0, burst));
}

/** The burst at a position. */
export function burstAt(position: number): number {
  return Math.expm1(position);
}

/** The verdict of a burst on a key, whose peak may be known only as a range. */
export function verdictAt({ peak, peak_range }: ReplayedKey, burst: number): Verdict {
  const [lowest, highest] = peak_range ?? [peak, peak];
  if (lowest > burst) return "rejected";
  return highest > burst ? "undecided" : "passed";
}

/** A comment, or a `limit_req` directive: its name, its parameters and its end. */
const DIRECTIVE = /#[^\n]*|(\blimit_req(?=\s))([^;{}]*)(;)/g;

/** The text of a rule with another burst. nginx has no `burst=0`: it is left out. */
export function withBurst(text: string, burst: number): string {
  return text.replace(DIRECTIVE, (found, name?: string, parameters?: string) => {
    if (name === undefined || parameters === undefined) return found;
    const without = parameters.replace(/\s+burst=[^\s;]*/g, "");
    if (burst === 0) return `${name}${without};`;
    const zone = /^\s*\S+/.exec(without)?.[0] ?? "";
    const replaced = parameters.replace(/(\sburst=)[^\s;]*/, `$1${burst}`);
    if (replaced !== parameters || without !== parameters) return `${name}${replaced};`;
    return `${name}${zone} burst=${burst}${without.slice(zone.length)};`;
  });
}

/** The zone of the first `limit_req` of a text. */
function zoneOf(text: string): string | null {
  for (const [, name, parameters] of text.matchAll(DIRECTIVE)) {
    const zone = name && /(?:^|\s)zone=([^\s;]+)/.exec(parameters ?? "");
    if (zone) return zone[1]!;
  }
  return null;
}

/** A comment, or a `limit_req_zone` directive: its name and its parameters. */
const ZONE = /#[^\n]*|(\blimit_req_zone(?=\s))([^;{}]*)/g;

/** The text of a rule with another rate, such as `5r/s`, of the zone of its limit. */
export function withRate(text: string, rate: string): string {
  const zone = zoneOf(text);
  return text.replace(ZONE, (found, name?: string, parameters?: string) => {
    if (name === undefined || parameters === undefined || zone === null) return found;
    const own = /\szone=([^\s:]+)/.exec(parameters)?.[1];
    if (own !== zone) return found;
    return name + parameters.replace(/(\srate=)\S+/, `$1${rate}`);
  });
}
