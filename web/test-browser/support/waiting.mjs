// Elements by their ids for tests, and waiting for a state of the page.

/** Time limit of every wait. A slow and busy machine needs minutes to read the large log. */
export const WAIT_MS = 600_000;
const WAIT = { timeout: WAIT_MS, polling: "raf" };

export const byId = (id) => `[data-testid="${id}"]`;

/**
 * Waits until a function of the page returns true. While it fails, because an element is not there yet, it
 * is tried again: Puppeteer would never call it again, and wait on.
 */
export function until(page, condition, ...args) {
  const tried = new Function(
    "...args",
    `try { return (${condition})(...args); } catch { return false; }`,
  );
  return page.waitForFunction(tried, WAIT, ...args);
}
