// How Chromium is started, for the tests and for the pictures of the page.

export const CHROMIUM = "/usr/bin/chromium";

/**
 * The same browser without its windows, which needs half of the processor time: Debian's package
 * chromium-headless-shell.
 */
export const CHROMIUM_SHELL = "/usr/bin/chromium-headless-shell";

/** A browser without a sandbox, a GPU, or network access that it would make on its own. */
export const CHROMIUM_ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
