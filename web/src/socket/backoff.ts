/** The first and the longest pause before a connection is retried. */
export const RETRY_MS_FIRST = 250;
export const RETRY_MS_MAX = 5_000;

/** Returns the pause before the next try, after `failures` failed ones in a row. */
export function retryDelay(failures: number): number {
  return Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** Math.max(0, failures - 1));
}
