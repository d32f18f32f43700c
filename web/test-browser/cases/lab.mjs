// The rules panel beyond one rule: other settings, good clients, and two rules side by side.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { byId, choose, settled, until } from "../support/page.mjs";
import { fixture, rules } from "../support/weir.mjs";
import { answered, lineOf, opened, placeOf, ruleOf, textOf, tryRule } from "./trying.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Returns the result of `weir rules` for a rule over a log. */
async function replay(world, text, log = LOG) {
  const path = world.path("rule.conf");
  await writeFile(path, text);
  const [replayed] = await rules("--suggest", "--rule", path, log);
  return replayed;
}

/** The same without a suggestion, which only some families have. */
async function answerOf(world, text) {
  const path = world.path("rule.conf");
  await writeFile(path, text);
  const [replayed] = await rules("--rule", path, LOG);
  return replayed;
}

/** The keys that a rule catches, and the requests that it rejects: certainly or likely. */
const caught = ({ keys, estimate }) => estimate?.keys ?? keys.tripped;
const rejected = ({ requests, estimate }) => estimate?.rejected ?? requests.rejected;

const boxText = (page, at = 0) => page.$$eval(byId("rule-box"), (boxes, at) => boxes[at].value, at);

/** Requests of 2026-11-22, each as client, user, second, status and agent. */
const logOf = (requests) =>
  requests
    .map(([client, user, second, status, agent, path = "/"]) => {
      const time = `22/Nov/2026:10:00:${String(second).padStart(2, "0")} +0000`;
      return `${client} - ${user} [${time}] "GET ${path} HTTP/1.1" ${status} 5 "-" "${agent}"\n`;
    })
    .join("");

const repeated = (times, request) => Array.from({ length: times }, () => request);

async function axe(page) {
  await page.evaluate(await readFile(AXE, "utf8"));
  for (const theme of ["one theme", "the other"]) {
    const found = await page.evaluate(async () => {
      const { violations } = await window.axe.run(document);
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join()}`);
    });
    assert.deepEqual(found, [], theme);
    await page.click(byId("theme-toggle"));
  }
}

export function lab(define) {
  define("other rates and bursts are tried, and a cell is written into the rule", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    const before = await replay(world, ruleOf(10));
    await tryRule(page, ruleOf(10));
    await answered(page, before.keys.tripped);
    assert.equal(await page.$(byId("limit-grid")), null, "it was not asked for");
    await page.click(byId("grid-open"));
    await page.waitForSelector(byId("limit-grid"));
    const own = `${byId("limit-grid")} .own button`;
    await page.focus(own);
    assert.match(await textOf(page, "grid-text"), /^rate=6r\/m burst=10: /);
    await page.keyboard.press("ArrowLeft");
    const [, burst] = /^rate=6r\/m burst=(\d+): /.exec(await textOf(page, "grid-text"));
    assert.ok(Number(burst) < 10);
    await page.keyboard.press("Enter");
    const after = await replay(world, ruleOf(burst));
    await answered(page, after.keys.tripped);
    assert.equal(await boxText(page), ruleOf(burst));
    const advice = await textOf(page, "advice");
    // All clients of this log look like people, so the suggestion spares them all.
    const [, rate, suggested] =
      /^rate=(\S+) burst=(\d+): no setting tells a few clients from the others/.exec(advice);
    const advised = ruleOf(suggested).replace("6r/m", rate);
    await page.click(byId("use-suggestion"));
    const spared = await replay(world, advised);
    assert.equal(spared.keys.tripped, 0);
    await answered(page, 0);
    assert.equal(await boxText(page), advised);
    const line = await textOf(page, "limit-text");
    assert.match(line, new RegExp(`^burst=${suggested}: `));
    await axe(page);
    await page.click(`${byId("grid-cell")}[data-rate="1r/s"][data-burst="0"]`);
    const bare = ruleOf(10).replace("6r/m", "1r/s").replace(" burst=10", "");
    await answered(page, (await replay(world, bare)).keys.tripped);
    assert.equal(await boxText(page), bare);
  });

  define("good clients over the limit are marked and counted", async (world) => {
    const { page, server } = world;
    const log = world.path("good.log");
    const bot = "Mozilla/5.0 (compatible; Googlebot/2.1)";
    await writeFile(
      log,
      logOf([
        ...repeated(60, ["192.0.2.1", "-", 7, 404, "curl/8"]),
        ...repeated(40, ["192.0.2.2", "ann", 7, 200, "Mozilla/5.0", "/own"]),
        ...repeated(30, ["192.0.2.3", "-", 7, 200, bot]),
        ...repeated(30, ["192.0.2.4", "bob", 7, 401, "Mozilla/5.0"]),
        ...repeated(20, ["198.51.100.7", "-", 7, 200, "Mozilla/5.0"]),
        ["192.0.2.9", "-", 9, 200, "Mozilla/5.0"],
        ["192.0.2.9", "-", 9, 401, "Mozilla/5.0", "/own"],
      ]),
    );
    await page.goto(server.url);
    await choose(page, log);
    await settled(page);
    await page.click(byId("rules-open"));
    await tryRule(page, ruleOf(5));
    await answered(page, 5);
    const collateral = () => textOf(page, "collateral");
    assert.match(
      await collateral(),
      /^It would catch 5 clients, 2 of them good: 1 signed in, 1 claimed search crawler\. /,
    );
    const marked = await page.$$eval(`${byId("key-who")} .good`, (marks) =>
      marks.map((mark) => [mark.closest("tr").dataset.key, mark.title]),
    );
    assert.deepEqual(
      marked.map(([key]) => key),
      ["192.0.2.2", "192.0.2.3"],
    );
    assert.match(marked[1][1], /only a claim/);
    // The sentence follows the line without a round trip.
    await page.mouse.move(...(await placeOf(page, 0.999)));
    await page.mouse.down();
    assert.match(
      await collateral(),
      /would catch about \d clients?, none of them known to be good/,
    );
    await page.mouse.move(...(await placeOf(page, 0.85)), { steps: 3 });
    const { burst } = await lineOf(page);
    const over = [39, 29].filter((peak) => peak > burst).length;
    assert.equal(await page.$eval(byId("collateral"), ({ dataset }) => dataset.good), `${over}`);
    await page.mouse.up();
    // Waits until the burst of the line is in the box and its answer is there. Otherwise that answer might
    // arrive after the next rule is tried, or be mistaken for the next one.
    await until(
      page,
      (text) =>
        document.querySelector('[data-testid="rule-box"]').value === text &&
        document.querySelector('[data-testid="rules-answer"]').getAttribute("aria-busy") ===
          "false" &&
        document.querySelector('[data-testid="rule"]').dataset.tripped !== "5",
      ruleOf(burst),
    );
    await tryRule(page, ruleOf(5));
    await answered(page, 5);
    await page.type(byId("good-networks"), "198.51.100.0/24 192.0.2.4 10.0.0/8");
    await page.keyboard.press("Enter");
    await until(
      page,
      () => document.querySelector('[data-testid="collateral"]')?.dataset.good === "4",
    );
    assert.match(await collateral(), /2 in networks that you named/);
    assert.match(
      await page.$eval(".networks-wrong", (line) => line.textContent),
      /“10\.0\.0\/8” is not a network/,
    );
    await axe(page);
    // The browser keeps the networks.
    await page.reload();
    await answered(page, 5);
    assert.equal(await page.$eval(byId("collateral"), ({ dataset }) => dataset.good), "4");
  });

  define("two rules are compared, and a rule with what it was before", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    const before = await replay(world, ruleOf(10));
    await tryRule(page, ruleOf(10));
    await answered(page, before.keys.tripped);
    await page.click(byId("rule-keep"));
    await page.waitForSelector(byId("comparison"));
    const keys = () =>
      page.evaluate(() =>
        ["first-only", "both", "second-only"].map((id) =>
          Number(document.querySelector(`[data-testid="comparison-${id}"]`).dataset.keys),
        ),
      );
    assert.deepEqual(await keys(), [0, caught(before), 0]);
    assert.equal(await boxText(page, 1), ruleOf(10));
    // A stricter rule catches others as well.
    await tryRule(page, ruleOf(2));
    const after = await replay(world, ruleOf(2));
    await answered(page, after.keys.tripped);
    const more = caught(after) - caught(before);
    assert.ok(more > 0);
    await until(
      page,
      (more) =>
        document.querySelector('[data-testid="comparison-first-only"]').dataset.keys === `${more}`,
      more,
    );
    assert.deepEqual(await keys(), [more, caught(before), 0]);
    const about = after.requests.undecided + before.requests.undecided > 0 ? "about " : "";
    assert.match(
      await textOf(page, "comparison"),
      new RegExp(
        `^This rule rejects ${about}${rejected(after)} requests, the other ${about}${rejected(before)}\\.`,
      ),
    );
    const columns = () =>
      page.$$eval(".rules-column", (all) => all.map((one) => one.getBoundingClientRect().left));
    const [left, right] = await columns();
    assert.ok(right > left + 400, "beside each other");
    await axe(page);
    // The address has both.
    await page.reload();
    await page.waitForSelector(byId("comparison"));
    assert.deepEqual([await boxText(page), await boxText(page, 1)], [ruleOf(2), ruleOf(10)]);
    assert.deepEqual(await keys(), [more, caught(before), 0]);
    await page.setViewport({ width: 420, height: 900 });
    await until(page, () => innerWidth === 420);
    const [above, below] = await columns();
    assert.equal(above, below, "below each other");
    await page.click(byId("rule-alone"));
    assert.equal(await page.$(byId("comparison")), null);
    assert.equal(await page.$(byId("other-rule")), null);
    assert.ok(!page.url().includes("other="), page.url());
  });

  define("rules of any two families are compared", async (world) => {
    const { page } = world;
    const jail = '[web]\nfailregex = ^<HOST> .*" 404 \nmaxretry = 2\n';
    const waf = 'SecRuleEngine On\nSecRule REQUEST_URI "@contains /wp" "id:1,phase:1,deny"';
    await opened(world);
    await page.click(byId("rules-open"));
    for (const [own, other] of [
      [jail, ruleOf(2)],
      [waf, jail],
    ]) {
      const [first, second] = [await answerOf(world, own), await answerOf(world, other)];
      await tryRule(page, other);
      await answered(page, second.keys.tripped);
      await page.click(byId("rule-keep"));
      await page.waitForSelector(byId("comparison"));
      await tryRule(page, own);
      await answered(page, first.keys.tripped);
      await until(
        page,
        (both) =>
          ["first-only", "both"].reduce(
            (sum, id) =>
              sum +
              Number(document.querySelector(`[data-testid="comparison-${id}"]`)?.dataset.keys),
            0,
          ) === both,
        caught(first),
      );
      const [only, both, others] = await page.evaluate(() =>
        ["first-only", "both", "second-only"].map((id) =>
          Number(document.querySelector(`[data-testid="comparison-${id}"]`).dataset.keys),
        ),
      );
      assert.deepEqual([only + both, both + others], [caught(first), caught(second)], own);
      assert.ok(caught(first) > 1 && caught(second) > 1);
      await page.click(byId("rule-alone"));
    }
  });
}
