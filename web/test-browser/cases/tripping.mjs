// What tripped the rules in force: blocks of an error log beside an access log.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { byId, chips, choose, numbers, settled, storyEnds, until } from "../support/page.mjs";
import { run } from "../support/weir.mjs";
import { tryRule } from "./trying.mjs";

const SECONDS = 12;
const REQUESTS = 6;
const REJECTED_FROM = 2;

const two = (number) => String(number).padStart(2, "0");

/** An attack on a log-in in UTC, and an error log of nginx that is two hours ahead. */
async function writeLogs(world) {
  let access = "";
  let errors = "";
  for (let second = 0; second < SECONDS; second++) {
    access += `198.51.100.4 - - [22/Nov/2026:10:00:${two(second)} +0000] "GET /a HTTP/1.1" 200 5 "-" "-"\n`;
    for (let request = 0; request < REQUESTS - (second % 2); request++) {
      const isRejected = request >= REJECTED_FROM;
      access +=
        `203.0.113.7 - - [22/Nov/2026:10:00:${two(second)} +0000] "POST /login HTTP/1.1" ` +
        `${isRejected ? 503 : 200} 5 "-" "curl/8"\n`;
      if (!isRejected) continue;
      errors +=
        `2026/11/22 12:00:${two(second)} [error] 8#8: *5 limiting requests, excess: 5.${two(second)}0 ` +
        'by zone "one", client: 203.0.113.7, server: _, request: "POST /login HTTP/1.1", host: "a"\n';
    }
  }
  const files = [world.path("access.log"), world.path("error.log")];
  await writeFile(files[0], access);
  await writeFile(files[1], errors);
  return files;
}

const textOf = (page, id) => page.$eval(byId(id), (element) => element.textContent);

/** Opens the tab of the blocks. */
async function openBlocks(page) {
  await page.waitForSelector(byId("blocks-open"));
  await page.click(byId("blocks-open"));
}

/** Waits until what is known of the clocks is on the screen. */
async function clockSays(page, part) {
  await openBlocks(page);
  await until(
    page,
    (part) =>
      document.querySelector('[data-testid="blocks-clock"]')?.textContent.includes(part) &&
      document.querySelector('[data-testid="blocks"]')?.getAttribute("aria-busy") === "false",
    part,
  );
}

async function setOffset(page, text) {
  await page.click(byId("blocks-offset"), { count: 3 });
  await page.keyboard.type(text);
  await page.click(byId("blocks-set"));
}

export function tripping(define) {
  define("the panel says what tripped the rules, and filters by the address", async (world) => {
    const { page, server } = world;
    const files = await writeLogs(world);
    await page.goto(server.url);
    await choose(page, ...files);
    await settled(page);
    await clockSays(page, "2 h ahead of that of the requests: 42 of 42 rejections agree");
    const sentence = await textOf(page, "blocked");
    assert.match(
      sentence,
      /^203\.0\.113\.7≡ was rejected 42 times by zone "one" \(excess 5\.0 to 5\.1\)/,
    );
    assert.match(sentence, /it sent 6 requests, at most 6 a second, all of them POST \/login/);
    assert.match(sentence, /; after it, 60 requests\./);
    await page.click(byId("blocked-client"));
    await chips(page, 1);
    // The list is about the whole log, whatever the filter.
    assert.match(await textOf(page, "blocked"), /was rejected 42 times/);
  });

  define("the blocks are laid over the requests, by the clock of these", async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await choose(page, ...(await writeLogs(world)));
    await settled(page);
    await clockSays(page, "2 h ahead");
    assert.equal(await textOf(page, "overlay"), "Overlay 42 blocks");
    await page.click(byId("overlay"));
    const legend = () =>
      page.$$eval(".legend li", (all) => all.map((one) => one.textContent).join(", "));
    await until(page, () => document.querySelectorAll(".legend li").length === 2);
    await settled(page);
    assert.match(await legend(), /^requests\d+, rejected42$/);
    assert.match(
      await page.$eval(".chart-head h2", (h2) => h2.textContent),
      /^Requests and blocks per/,
    );
    // The two hours between the clocks are not drawn.
    const { chart } = await numbers(page);
    assert.deepEqual([chart.step, chart.buckets], [1, SECONDS]);
    await page.reload();
    await clockSays(page, "2 h ahead");
    await settled(page);
    await until(page, () => document.querySelectorAll(".legend li").length === 2);
    assert.match(await legend(), /rejected42$/);
  });

  define("the story of an address says what blocked it", async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await choose(page, ...(await writeLogs(world)));
    await settled(page);
    await clockSays(page, "2 h ahead");
    await page.click(`${byId("blocked")} ${byId("story-open")}`);
    await until(page, () =>
      document.querySelector('[data-testid="story-blocks"]')?.textContent.includes("rejected"),
    );
    assert.match(
      await textOf(page, "story-blocks"),
      /203\.0\.113\.7 was rejected 42 times by zone "one" .*; after it, 60 requests\.$/,
    );
    await page.click(byId("story-close"));
    await storyEnds(page);
    // Another client was never blocked.
    await page.goto(`${page.url()}${page.url().includes("?") ? "&" : "?"}story=198.51.100.4`);
    await until(page, () =>
      document.querySelector('[data-testid="story-blocks"]')?.textContent.includes("No log states"),
    );
  });

  define("the offset of the clocks is set, refused, and estimated again", async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await choose(page, ...(await writeLogs(world)));
    await clockSays(page, "2 h ahead");
    await setOffset(page, "-1h30min");
    await clockSays(page, "You have set that it is 1 h 30 min behind");
    assert.match(await textOf(page, "blocked"), /it sent no request; after it, nothing/);
    await setOffset(page, "never");
    assert.equal(await page.$eval(byId("blocks-offset"), (box) => box.ariaInvalid), "true");
    await page.click(byId("blocks-estimate"));
    await clockSays(page, "42 of 42 rejections agree.");
    assert.match(await textOf(page, "blocked"), /it sent 6 requests/);
  });

  define(
    "a click on the zone tries it, beside another rule or as it is configured",
    async (world) => {
      const { page, server } = world;
      await page.goto(server.url);
      await choose(page, ...(await writeLogs(world)));
      await settled(page);
      await clockSays(page, "2 h ahead");
      const box = (at) => page.$$eval(byId("rule-box"), (boxes, at) => boxes[at]?.value, at);
      const tripped = (at) =>
        until(
          page,
          (at) => document.querySelectorAll('[data-testid="rule"]')[at]?.dataset.tripped === "1",
          at,
        );
      assert.equal(await textOf(page, "blocked-trial"), 'zone "one"');
      await page.click(byId("blocked-trial"));
      await tripped(0);
      // The lowest excess of the log is 5.000, which a burst of 4 rejects.
      assert.match(
        await box(0),
        /^# The lowest excess that it rejects is 5, so the burst is 4 at most/,
      );
      assert.match(await box(0), /\nlimit_req zone=one burst=4 nodelay;$/);
      const isInView = () =>
        page.$eval(byId("rules"), (panel) => panel.getBoundingClientRect().top < innerHeight);
      assert.ok(await isInView());
      // A configuration that defines the zone stays.
      const own = (zone) =>
        `limit_req_zone $binary_remote_addr zone=${zone}:10m rate=6r/m;\nlimit_req zone=${zone} burst=2;`;
      await tryRule(page, own("one"));
      await openBlocks(page);
      await page.click(byId("blocked-trial"));
      await page.waitForSelector(byId("rule-box"));
      assert.equal(await box(0), own("one"));
      assert.equal((await page.$$(byId("rule-box"))).length, 1);
      // Another rule stays beside it.
      await tryRule(page, own("two"));
      await openBlocks(page);
      await page.click(byId("blocked-trial"));
      await page.waitForSelector(byId("comparison"));
      assert.equal(await box(0), own("two"));
      assert.match(await box(1), /limit_req zone=one burst=4 nodelay;$/);
    },
  );

  define("the panel says who was blocked, and what would let it pass", async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    const files = await writeLogs(world);
    await choose(page, ...files);
    await settled(page);
    await clockSays(page, "2 h ahead");
    assert.equal(
      await textOf(page, "blocked-looks"),
      "Looks like: program; curl; 66 requests in all, 63.6% with errors, the first for /login.",
    );
    await page.click(`${byId("blocked-remedies")} summary`);
    // The same as the command prints, which breaks sentences.
    const printed = (await run("rules", ...files)).replaceAll(/\s+/g, " ");
    const [place, text] = await page.$eval(byId("blocked-remedies"), (remedies) => [
      remedies.querySelector("p").textContent,
      remedies.querySelector("pre").textContent,
    ]);
    assert.match(place, /^In http of nginx\.conf, .* or burst=6, which lets/);
    for (const part of [place.slice(2), text]) {
      assert.ok(printed.includes(part.replaceAll(/\s+/g, " ")), `${part}\n${printed}`);
    }
    await page.click(byId("copy-text"));
    await until(page, () =>
      /^(Copied|The browser)/.test(document.querySelector('[data-testid="copy-text"]').textContent),
    );
  });
}
