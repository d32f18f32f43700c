// The pages of the admin address: how they are opened, and what holds for all of them.

import assert from "node:assert/strict";
import { findings } from "./axe.mjs";
import { Server } from "./weir.mjs";

const WIDTHS_PX = [1280, 768, 390];

/** Starts a server with an admin address, whose pages are those of the world from now on. It ends with the world. */
export async function look(world, ...args) {
  await world.server.end();
  world.server = await Server.start(["--admin", "127.0.0.1:0", ...args]);
  world.server.url = new URL(await world.server.said(/a look inside at (http:\/\/\S+)/));
}

/** Asserts that axe-core finds nothing in either theme. */
export async function readable(page) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((it) => (document.documentElement.dataset.theme = it), theme);
    assert.deepEqual(await findings(page), [], theme);
  }
}

/** Asserts that nothing is wider than the window, however narrow that is. */
export async function fits(page) {
  for (const width of WIDTHS_PX) {
    await page.setViewport({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} px too wide at ${width} px`);
  }
}

/** Answers the questions of the next page at a path with a text or with data, in place of the program. */
export async function answer(page, path, data, headers = {}) {
  await page.evaluateOnNewDocument(
    (path, text, headers) => {
      const ask = window.fetch;
      window.fetch = (asked, ...options) =>
        String(asked).startsWith(path)
          ? Promise.resolve(new Response(text, { headers }))
          : ask(asked, ...options);
    },
    path,
    typeof data === "string" ? data : JSON.stringify(data),
    headers,
  );
}
