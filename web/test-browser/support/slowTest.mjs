// A test whose commands reach the browser late, as on a machine where the test waits for a
// processor. It exposes cases that act on what has changed or gone since they looked at it.

import { createRequire } from "node:module";

/** How late each command is, in milliseconds. The variable `WEIR_SLOW_TEST` of the suite. */
const LATE_MS = Number(process.env.WEIR_SLOW_TEST ?? 0);

/** Delays the commands of all browsers that start from now on, in their order. */
export function slowCommands() {
  if (LATE_MS === 0) return;
  const puppeteer = createRequire(import.meta.resolve("puppeteer-core"));
  const { prototype } = puppeteer("ws").WebSocket;
  const { send } = prototype;
  prototype.send = function sendLate(...args) {
    setTimeout(() => this.readyState === this.OPEN && send.apply(this, args), LATE_MS);
  };
}
