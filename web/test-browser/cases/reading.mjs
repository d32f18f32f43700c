// Logs from all kinds of files; the page shows the numbers of `weir report`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import {
  byId,
  choose,
  drop,
  dropFromDesktop,
  openSources,
  settled,
  shows,
} from "../support/page.mjs";
import { fixture, report } from "../support/weir.mjs";

const ELASTIC = fixture("apache-combined/elastic-first-2000.log");
const BROKEN_LINE = fixture("apache-combined/elastic-near-8899.log");
const ATTACKS = fixture("attacks/hackers-first-1000.log");
const NGINX = fixture("nginx-combined/meatlabel.app.access.log-20251225");
const VHOST = fixture("apache-mixed/farmwork.vhost.log");
const CADDY = fixture("w3c-and-json/logfile_caddy_log.1");
const SHOP = fixture("w3c-and-json/shop-first-300.log");

export function reading(define, { browserName }) {
  for (const file of [ELASTIC, BROKEN_LINE, ATTACKS, NGINX, VHOST, CADDY, SHOP]) {
    define(
      `a chosen file shows the numbers of the report: ${basename(file)}`,
      async ({ page, server }) => {
        await page.goto(server.url);
        await choose(page, file);
        await settled(page);
        await shows(page, await report(file));
        const { state } = await page.$eval(byId("progress-row"), (row) => ({ ...row.dataset }));
        assert.equal(state, "done");
      },
    );
  }

  define("dropped files make one data set", async ({ page, server }) => {
    await page.goto(server.url);
    await drop(page, NGINX, BROKEN_LINE);
    await settled(page);
    await shows(page, await report(NGINX, BROKEN_LINE));
    assert.equal((await page.$$(byId("progress-row"))).length, 2);
    // A third one joins them.
    await choose(page, ATTACKS);
    await page.waitForFunction(
      () => document.querySelectorAll('[data-testid="progress-row"]').length === 3,
    );
    await settled(page);
    await shows(page, await report(NGINX, BROKEN_LINE, ATTACKS));
  });

  define("a gzip file is read", async (world) => {
    const { page, server } = world;
    const file = world.path("access.log.1.gz");
    await writeFile(file, gzipSync(await readFile(ELASTIC)));
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    await shows(page, await report(ELASTIC));
  });

  define(
    "a truncated gzip file keeps the lines read so far and reports the error",
    async (world) => {
      const { page, server } = world;
      const file = world.path("cut.log.gz");
      const whole = gzipSync(await readFile(ELASTIC));
      await writeFile(file, whole.subarray(0, whole.length >> 1));
      await page.goto(server.url);
      await choose(page, file);
      await settled(page);
      const row = await page.$eval(byId("progress-row"), (one) => ({
        state: one.dataset.state,
        text: one.textContent,
      }));
      assert.equal(row.state, "failed");
      assert.match(row.text, /at byte [\d,]+/);
      // It is said beside the numbers that lack the rest.
      const said = await page.waitForSelector(byId("failed-file"), { visible: true });
      const told = await said.evaluate((one) => one.textContent);
      assert.match(told, /^cut\.log\.gz .*at byte [\d,]+/);
      const requests = await page.$eval(byId("total-requests"), (one) => Number(one.dataset.value));
      assert.ok(requests > 100 && requests < 2000, `${requests} requests`);
    },
  );

  define("each file of an archive is a source", async (world) => {
    const { page, server } = world;
    await mkdir(world.path("logs"));
    await writeFile(world.path("logs/a.log"), await readFile(NGINX));
    await writeFile(world.path("logs/b.log.gz"), gzipSync(await readFile(ELASTIC)));
    await promisify(execFile)("tar", [
      "-czf",
      world.path("logs.tar.gz"),
      "-C",
      world.path("."),
      "logs",
    ]);
    await page.goto(server.url);
    await choose(page, world.path("logs.tar.gz"));
    await page.waitForFunction(
      () => document.querySelectorAll('[data-testid="progress-row"]').length === 3,
    );
    await settled(page);
    await shows(page, await report(NGINX, ELASTIC));
    await openSources(page);
    const text = await page.$eval(byId("sources"), (sources) => sources.textContent);
    assert.match(text, /logs\.tar\.gz\/logs\/b\.log\.gz/);
    assert.match(text, /an archive: each of its files is a source/);
  });

  define("a file without a parsed line shows why", async (world) => {
    const { page, server } = world;
    const file = world.path("poem.txt");
    await writeFile(file, "The fog comes\non little cat feet.\n".repeat(40));
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    const text = await page.$eval("main", (main) => main.textContent);
    assert.match(text, /is a text without times or addresses, not a log/);
    const samples = await page.$eval(byId("samples"), (one) => one.textContent);
    assert.match(samples, /line 1, column \d+: \S.*The fog comes/);
    assert.match(text, /Format…/);
    assert.equal(await page.$eval(byId("total-unparsed"), (one) => Number(one.dataset.value)), 80);
  });

  define("an empty file is read to its end", async (world) => {
    const { page, server } = world;
    const file = world.path("empty.log");
    await writeFile(file, "");
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    assert.match(await page.$eval("main", (main) => main.textContent), /No request was read/);
  });

  define("curl -T prints the address of its session", async ({ page, server }) => {
    const { stdout } = await promisify(execFile)("curl", ["-sS", "-T", ELASTIC, server.url.href]);
    const address = /http:\/\/\S+\/s\/[0-9a-f]+/.exec(stdout)?.[0];
    assert.ok(address, stdout);
    await page.goto(address);
    await settled(page);
    await shows(page, await report(ELASTIC));
  });

  define(
    "a log of the command line is on the page",
    async ({ page, server }) => {
      await page.goto(server.url);
      await settled(page);
      await shows(page, await report(ELASTIC));
    },
    { args: [ELASTIC] },
  );

  // Only a real drag can hold a folder, and only Chromium lets a test make one.
  if (browserName === "chromium") {
    define("all files of a dropped folder are read", async (world) => {
      const { page, server } = world;
      await mkdir(world.path("logs/old"), { recursive: true });
      for (const [at, file] of [
        [10, NGINX],
        [2, BROKEN_LINE],
      ]) {
        await writeFile(world.path(`logs/access.log.${at}`), await readFile(file));
      }
      await writeFile(world.path("logs/old/a.log"), await readFile(ATTACKS));
      await writeFile(world.path("logs/.hidden"), "not a log");
      await page.goto(server.url);
      await page.waitForSelector(byId("drop-zone"));
      await dropFromDesktop(page, world.path("logs"));
      await page.waitForFunction(
        () => document.querySelectorAll('[data-testid="progress-row"]').length === 3,
      );
      await settled(page);
      await shows(page, await report(NGINX, BROKEN_LINE, ATTACKS));
      const names = await page.$$eval(".progress-name", (all) =>
        all.map((one) => one.textContent).sort(),
      );
      assert.deepEqual(names, ["logs/access.log.10", "logs/access.log.2", "logs/old/a.log"]);
    });
  }
}
