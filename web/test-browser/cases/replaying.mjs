// Tries rules that look at whole lines over logs that were dropped, which the page sends again.

import assert from "node:assert/strict";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { byId, choose, drop, settled, until } from "../support/page.mjs";
import { fixture, generate, rules } from "../support/weir.mjs";
import { answered, ruleOf, textOf, tryRule } from "./trying.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");

const JAIL = `[DEFAULT]
findtime = 10m
bantime  = 1h

[web-scanner]
enabled  = true
filter   = web-scanner
logpath  = /var/log/nginx/access.log
maxretry = 3
`;

/** In the manner of filters that people write for access logs. */
const FILTER = `[INCLUDES]
before = web-fields.conf

[Definition]
failregex = ^<HOST> %(_ident)s\\s+"(?:GET|POST|HEAD)[^"]*" (?:403|404) \\d+
ignoreregex = "(?:GET|HEAD) /(?:favicon\\.ico|robots\\.txt)
datepattern = \\[%%d/%%b/%%Y:%%H:%%M:%%S %%z\\]
`;

const FIELDS = "[DEFAULT]\n_ident = \\S+ \\S+\n";

const FILES = { "jail.local": JAIL, "web-scanner.conf": FILTER, "web-fields.conf": FIELDS };

/** Returns the result of \`weir rules\` for the jail. */
async function replay(world, ...logs) {
  for (const [name, text] of Object.entries(FILES)) await writeFile(world.path(name), text);
  const [replayed] = await rules("--rule", world.path("jail.local"), ...logs);
  return replayed;
}

/** Drops the jail with the files that it names on the rule box. */
async function dropJail(page) {
  const button = await page.waitForSelector(`${byId("rules-open")}, ${byId("rule-box")}`);
  if ((await page.$(byId("rule-box"))) === null) await button.click();
  await page.waitForSelector(byId("rule-box"));
  await page.$eval(
    byId("rule-box"),
    (box, files) => {
      const dataTransfer = new DataTransfer();
      for (const [name, text] of Object.entries(files)) {
        dataTransfer.items.add(new File([text], name));
      }
      box.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    },
    FILES,
  );
}

const bansOf = (page) =>
  page.$$eval(`${byId("rule-bans")} li`, (rows) =>
    rows.map((row) => /^[0-9a-f.:]+/i.exec(row.textContent)?.[0]),
  );

const keysOf = (page) =>
  page.$$eval(byId("rule-key"), (rows) =>
    rows.map(({ dataset }) => [dataset.key, dataset.verdict]),
  );

/** Waits until the page shows what the command has printed. */
async function showsJail(page, expected) {
  await answered(page, expected.keys.tripped);
  const keys = [...expected.trips, ...expected.closest].slice(0, 20);
  assert.deepEqual(
    await keysOf(page),
    keys.map(({ key, verdict }) => [key, verdict]),
  );
  assert.deepEqual(
    await bansOf(page),
    expected.bans.slice(0, 20).map(({ key }) => key),
  );
  // The list is cut off, the count is not.
  const [bans] = /^\d+/.exec((await textOf(page, "rule-bans")).replaceAll(",", ""));
  assert.equal(Number(bans), expected.bans.length);
  assert.equal(await page.$(byId("lines-again")), null);
}

/** Waits for a refusal that contains a text. */
async function refused(page, text) {
  await until(
    page,
    (text) => document.querySelector('[data-testid="rule-refusal"]')?.textContent.includes(text),
    text,
  );
}

export function replaying(define) {
  define("a jail and its filter are replayed over dropped logs", async (world) => {
    const { page, server } = world;
    const packed = world.path("elastic.log.gz");
    await writeFile(packed, gzipSync(await readFile(LOG)));
    const expected = await replay(world, LOG);
    assert.ok(expected.bans.length > 1 && expected.keys.tripped > 1);
    await page.goto(server.url);
    await drop(page, LOG);
    await settled(page);
    const { lines } = await server.report(new URL(page.url()).pathname.split("/").pop());
    await dropJail(page);
    await showsJail(page, expected);
    // The story has the verdict of the panel.
    await page.click(`${byId("rule-bans")} button`);
    await until(page, () =>
      document.querySelector('[data-testid="story-rules"] li')?.textContent.includes("1 ban,"),
    );
    await page.click(byId("story-close"));
    // Beside a limit, and beside a stricter copy with its filters.
    await page.click(byId("rule-keep"));
    const both = `${byId("comparison-both")}[data-keys="${expected.keys.tripped}"]`;
    await page.waitForSelector(both);
    await page.click(byId("rule-alone"));
    // Nothing was kept.
    const after = await server.report(new URL(page.url()).pathname.split("/").pop());
    assert.equal(after.lines, lines);
    // After a reload the page does not have the file.
    await page.reload();
    await settled(page);
    await dropJail(page);
    await refused(page, "this page does not have elastic-first-2000.log");
    assert.match(await textOf(page, "rule-refusal"), /weir rules --rule/);
    // A packed log is sent again as it is.
    await page.goto(server.url);
    await drop(page, packed);
    await settled(page);
    await dropJail(page);
    await showsJail(page, expected);
  });

  define(
    "a replay shows how far it is, ends, and refuses a file that has changed",
    async (world) => {
      const { page } = world;
      const log = world.path("access.log");
      await generate(log, "30MB");
      const expected = await replay(world, log);
      // A replay is held half-way, so that it is still there when the test gets to it.
      const proxy = await world.startProxy();
      await page.goto(proxy.url);
      await choose(page, log);
      await settled(page);
      proxy.release(proxy.received + 10e6);
      await dropJail(page);
      await page.waitForSelector(byId("lines-again-cancel"));
      await proxy.until(() => proxy.received >= proxy.holdAt);
      await page.click(byId("lines-again-cancel"));
      await refused(page, "was cancelled");
      proxy.release(Infinity);
      await page.click(byId("rule-try"));
      await showsJail(page, expected);
      // A newer rule replaces the replay at once.
      proxy.release(proxy.received + 10e6);
      await page.click(byId("rule-try"));
      await page.waitForSelector(byId("lines-again"));
      await proxy.until(() => proxy.received >= proxy.holdAt);
      await tryRule(page, ruleOf(10));
      await until(page, () => document.querySelector('[data-testid="limit-line"]') !== null);
      assert.equal(await page.$(byId("lines-again")), null);
      proxy.release(Infinity);
      // The file grows after it was read.
      await tryRule(page, JAIL);
      await showsJail(page, expected);
      await appendFile(log, "one more line\n");
      await page.click(byId("rule-try"));
      await refused(page, "was changed, moved or deleted");
    },
  );
}
