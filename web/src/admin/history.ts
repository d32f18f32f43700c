/** The numbers of the last minute, which are kept in the tab. */

/** How long a sample is kept. */
export const MINUTE_MS = 60_000;

/** Samples that are further apart are not joined by a line: the page was hidden meanwhile. */
const GAP_MS = 4_000;

export interface Sample {
  at_ms: number;
  value: number;
}

/** The samples by the name of what they measure, the oldest first. */
export type History = ReadonlyMap<string, readonly Sample[]>;

/** Returns the history with new values, and without what is older than a minute. */
export function withValues(
  history: History,
  values: Iterable<readonly [string, number | undefined]>,
  now_ms: number,
): History {
  const isRecent = ({ at_ms }: Sample) => now_ms - at_ms <= MINUTE_MS;
  const kept = new Map<string, readonly Sample[]>();
  for (const [name, samples] of history) {
    const recent = samples.filter(isRecent);
    if (recent.length > 0) kept.set(name, recent);
  }
  for (const [name, value] of values) {
    if (value === undefined) continue;
    kept.set(name, [...(kept.get(name) ?? []), { at_ms: now_ms, value }]);
  }
  return kept;
}

/** The largest value. */
export function peakOf(samples: readonly Sample[]): number {
  return samples.reduce((most, { value }) => Math.max(most, value), 0);
}

/** A point of a chart: both parts are between 0 and 1, from the left and from the bottom. */
export interface Point {
  x: number;
  y: number;
}

/** The lines of a chart whose right edge is now and whose top is `top`. */
export function linesOf(samples: readonly Sample[], now_ms: number, top: number): Point[][] {
  const lines: Point[][] = [];
  let before_ms = -Infinity;
  for (const { at_ms, value } of samples) {
    const point = {
      x: Math.max(0, 1 - (now_ms - at_ms) / MINUTE_MS),
      y: top > 0 ? Math.min(value / top, 1) : 0,
    };
    if (at_ms - before_ms > GAP_MS) lines.push([point]);
    else lines.at(-1)!.push(point);
    before_ms = at_ms;
  }
  return lines;
}
