// Elements by their ids for tests, and waiting for a state of the page.

/** Time limit of every wait. A slow and busy machine needs minutes to read the large log. */
export const WAIT_MS = 600_000;
const WAIT = { timeout: WAIT_MS, polling: "raf" };

export const byId = (id) => `[data-testid="${id}"]`;

/** Waits until a function of the page returns true. */
export function until(page, condition, ...args) {
  return page.waitForFunction(condition, WAIT, ...args);
}
