/** Round values for the y axis: 0 up to the first round one that holds `max`. */
export function countTicks(max: number, wanted: number): number[] {
  if (max <= 0) return [0];
  const step = roundStep(max / Math.max(1, wanted));
  const ticks: number[] = [];
  for (let tick = 0; ; tick += step) {
    ticks.push(tick);
    if (tick >= max) return ticks;
  }
}

/** The next of 1, 2, 5, 10, ... that is no smaller; counts are whole, so at least 1. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9)) ?? 10;
  return Math.max(1, factor * power);
}
