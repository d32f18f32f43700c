// Addresses that last: a page goes on with the next process, and one that is gone says where to go.

import assert from "node:assert/strict";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { byId, openSources, row, shows, until } from "../support/page.mjs";
import { CUT } from "../support/proxy.mjs";
import { fixture, report, Server } from "../support/weir.mjs";

const ELASTIC = fixture("apache-combined/elastic-first-2000.log");

export function returning(define) {
  define(
    "a page that is left open goes on with the next process",
    async (world) => {
      const { page } = world;
      const lines = (await readFile(ELASTIC, "utf8")).split(/(?<=\n)/);
      const file = world.path("access.log");
      await writeFile(file, lines.slice(0, 500).join(""));
      const follow = ["--follow", "--name", "web1", file];
      await restart(world, follow);
      assert.match(world.server.url.pathname, /^\/d\/web1$/);
      await page.goto(new URL("/", world.server.url));
      await reads(page, 500);
      await (await row(page, "status", "404")).click();
      await page.waitForSelector(byId("chip"));
      await until(page, () => location.search.includes("f=status"));
      const filtered = page.url();
      const host = world.server.url.host;
      await world.server.kill();
      await until(page, says, "Weir does not answer");
      await appendFile(file, lines.slice(500).join(""));
      world.server = await Server.start(follow, [], host);
      const expected = await report("--where", "status=404", file);
      await until(
        page,
        (wanted) =>
          Number(document.querySelector('[data-testid="total-requests"]')?.dataset.value) ===
          wanted,
        expected.matching,
      );
      await until(page, () => document.querySelector('[data-testid="banner"]') === null);
      await shows(page, expected);
      assert.equal(page.url(), filtered);
      assert.equal((await page.$$(byId("chip"))).length, 1);
      assert.match(
        await page.$eval(byId("kept"), (note) => note.textContent),
        /^Kept: all 2,000 requests, complete since 2015-05-17 10:05:/,
      );
    },
    { allowed: CUT },
  );

  define(
    "an address that is gone says where to go",
    async (world) => {
      const { page } = world;
      await restart(world, ["--name", "web1", ELASTIC]);
      for (const path of ["/d/web2", `/s/${"0".repeat(32)}`]) {
        await page.goto(new URL(path, world.server.url));
        await until(page, says, path === "/d/web2" ? "no data set of the name web2" : "is gone");
        await until(page, says, "This Weir shows web1");
      }
      await page.click(`${byId("banner")} a[href="/"]`);
      await reads(page, 2_000);
      // Other logs stay apart from what is served.
      await openSources(page);
      await page.click(byId("new-link"));
      await page.waitForSelector(byId("drop-zone"));
      assert.equal(new URL(page.url()).pathname, "/new");
    },
    { allowed: [...CUT, /404/] },
  );
}

/** Starts another server in the place of the one of the world. */
async function restart(world, args) {
  await world.server.end();
  world.server = await Server.start(args);
}

const says = (text) =>
  document.querySelector('[data-testid="banner"]')?.textContent.includes(text) ?? false;

function reads(page, count) {
  return until(
    page,
    (wanted) =>
      Number(document.querySelector('[data-testid="total-requests"]')?.dataset.value) === wanted,
    count,
  );
}
