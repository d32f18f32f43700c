/** The y axis: the counts at its grid lines and at its upper end. */
export interface CountScale {
  ticks: number[];
  top: number;
}

/**
 * Returns round grid lines for counts up to `max`. The upper end is a whole or a half step, so that
 * it seldom moves while the counts grow, and wastes little height.
 */
export function countScale(max: number, wanted: number): CountScale {
  if (max <= 0) return { ticks: [0], top: 1 };
  const step = roundStep(max / Math.max(1, wanted));
  const top = (Math.ceil((2 * max) / step) * step) / 2;
  const ticks = Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step);
  return { ticks, top };
}

/** The smallest of 1, 2, 5, 10, ... that is at least `least`; counts are whole, so at least 1. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9)) ?? 10;
  return Math.max(1, factor * power);
}
