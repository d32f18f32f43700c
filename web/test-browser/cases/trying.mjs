// Tries a rule: its clients, the limit line, and mistakes.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { grouped } from "../support/outputs.mjs";
import { byId, chips, choose, settled, until } from "../support/page.mjs";
import { fixture, rules } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");

export const ruleOf = (burst) =>
  `limit_req_zone $binary_remote_addr zone=one:10m rate=6r/m;\nlimit_req zone=one burst=${burst};`;

/** Returns the result of `weir rules` for a rule. */
async function replay(world, text) {
  const path = world.path("rule.conf");
  await writeFile(path, text);
  const [replayed] = await rules("--rule", path, LOG);
  return replayed;
}

export async function opened({ page, server }) {
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

/** Replaces the text of the rule, and tries it. */
export async function tryRule(page, text) {
  // It is loaded when it is opened.
  await page.waitForSelector(byId("rule-box"));
  await page.waitForSelector(byId("rule-box"));
  await page.$eval(
    byId("rule-box"),
    (box, text) => {
      box.value = text;
      box.dispatchEvent(new InputEvent("input", { bubbles: true }));
    },
    text,
  );
  await page.click(byId("rule-try"));
}

export const textOf = (page, id) => page.$eval(byId(id), (element) => element.textContent);

/** Waits until the panel shows the answer to the rule in the box. */
export const answered = (page, tripped) =>
  until(
    page,
    (tripped) =>
      document.querySelector('[data-testid="rules-answer"]')?.getAttribute("aria-busy") ===
        "false" &&
      document.querySelector('[data-testid="rule"]')?.dataset.tripped === String(tripped),
    tripped,
  );

const keysOf = (page) =>
  page.$$eval(byId("rule-key"), (rows) =>
    rows.map(({ dataset }) => [dataset.key, dataset.verdict]),
  );

/** The place of a share of the limit chart. */
export async function placeOf(page, share) {
  const frame = await page.$(".limit-frame");
  await frame.scrollIntoView();
  const box = await frame.boundingBox();
  return [box.x + share * box.width, box.y + box.height / 2];
}

/** The burst of the line, and what the page says about it. */
export const lineOf = (page) =>
  page.evaluate(() => ({
    burst: Number(
      document.querySelector('[data-testid="limit-line"]').getAttribute("aria-valuenow"),
    ),
    text: document.querySelector('[data-testid="limit-text"]').textContent,
    rejected: document.querySelectorAll('[data-testid="rule-key"][data-verdict="rejected"]').length,
  }));

export function trying(define) {
  define("a rule whose field is missing leaves the others, and says why", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    const connections = "limit_conn_zone $binary_remote_addr zone=c:1m;\nlimit_conn c 1;";
    await tryRule(page, `${ruleOf(10)}\n${connections}`);
    const { tripped } = (await replay(world, ruleOf(10))).keys;
    await answered(page, tripped);
    const looked = () =>
      page.$$eval(byId("rule-looked-at"), (all) => all.map((one) => one.textContent));
    const [first, second] = await looked();
    assert.match(first, /^It looked at 2,000 lines, 2,000 of them records, and applies to 2,000/);
    assert.match(second, /^Connections at the same time .* add \$request_time to log_format\. It /);
    assert.match(await textOf(page, "rules-line"), /^2 rules, 1 tripped$/);
    // With a filter, the rule looked at what the filter selects.
    await page.goto(`${page.url().split("#")[0]}#rule=${encodeURIComponent(ruleOf(10))}`);
    await page.reload();
    await settled(page);
    await answered(page, tripped);
    await page.click(byId("rule-client"));
    await chips(page, 1);
    await page.$eval(byId("rules-filtered"), (box) => box.click());
    await until(page, () =>
      document
        .querySelector('[data-testid="rule-sentence"]')
        ?.textContent.startsWith("Of 1 client"),
    );
    const [filtered] = await looked();
    const [, lines, records] = /looked at (\d+) lines, (\d+) of them records/.exec(filtered);
    assert.equal(lines, records);
  });

  define("the excerpt of a mistake keeps the tabs of the text", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    await tryRule(page, `server {\n\t\tlimit_req\tzone=é\tbrust=5;\n}`);
    await page.waitForSelector(byId("rule-excerpt"));
    const excerpt = await textOf(page, "rule-excerpt");
    assert.match(excerpt, /^\t\tlimit_req\tzone=é\tbrust=5;\n\t\t {9}\t/);
  });

  define("a rule that is pasted shows its clients, and its line is dragged", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    const expected = await replay(world, ruleOf(10));
    assert.ok(expected.keys.tripped > 2);
    await tryRule(page, ruleOf(10));
    await answered(page, expected.keys.tripped);
    const { seen, tripped } = expected.keys;
    const sentence = await textOf(page, "rule-sentence");
    assert.ok(
      sentence.startsWith(`Of ${grouped(seen)} clients, ${grouped(tripped)} trip the rule`),
      sentence,
    );
    assert.equal(
      await textOf(page, "rules-line"),
      `1 rule, ${grouped(tripped)} clients tripped it`,
    );
    const first = [...expected.trips, ...expected.closest].slice(0, 20);
    assert.deepEqual(
      await keysOf(page),
      first.map(({ key, verdict }) => [key, verdict]),
    );
    // Without a round trip: the server is asked when the line is released.
    const before = await lineOf(page);
    assert.equal(before.burst, 10);
    await page.mouse.move(...(await placeOf(page, 0.9)));
    await page.mouse.down();
    const during = await lineOf(page);
    assert.ok(during.burst > 10 && during.rejected <= before.rejected, JSON.stringify(during));
    assert.equal(await page.$eval(byId("rule-box"), (box) => box.value), ruleOf(10));
    await page.mouse.move(...(await placeOf(page, 0.5)), { steps: 4 });
    const dragged = await lineOf(page);
    assert.ok(dragged.burst > 0 && dragged.burst < during.burst);
    await page.mouse.up();
    const after = await replay(world, ruleOf(dragged.burst));
    await answered(page, after.keys.tripped);
    assert.equal(await page.$eval(byId("rule-box"), (box) => box.value), ruleOf(dragged.burst));
    const shown = await lineOf(page);
    assert.equal(shown.text, dragged.text, "the server agrees with the page");
    assert.ok(decodeURIComponent(page.url()).includes(`burst=${dragged.burst};`));
    // A reload tries the rule of the address again.
    await page.reload();
    await answered(page, after.keys.tripped);
  });

  define("the limit line moves by keys, and a client filters the page", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    await tryRule(page, ruleOf(10));
    await answered(page, (await replay(world, ruleOf(10))).keys.tripped);
    await page.focus(byId("limit-line"));
    for (const [key, burst] of [
      ["ArrowRight", 11],
      ["ArrowLeft", 10],
      ["PageUp", 20],
      ["Home", 0],
      ["ArrowUp", 1],
    ]) {
      await page.keyboard.press(key);
      assert.equal((await lineOf(page)).burst, burst, key);
    }
    await page.keyboard.press("Enter");
    await answered(page, (await replay(world, ruleOf(1))).keys.tripped);
    const client = await page.$eval(byId("rule-key"), ({ dataset }) => dataset.key);
    await page.click(byId("rule-client"));
    await chips(page, 1);
    assert.match(await page.$eval(byId("chip"), (chip) => chip.textContent), new RegExp(client));
    // The panel still shows all clients, until it is told to follow the filter.
    assert.ok((await keysOf(page)).length > 1);
    await page.click(byId("rules-filtered"));
    await answered(page, 1);
    assert.deepEqual(await keysOf(page), [[client, "rejected"]]);
    for (const theme of ["one theme", "the other"]) {
      assert.deepEqual(await findings(page), [], theme);
      await page.click(byId("theme-toggle"));
    }
  });

  define("a mistake in a rule is shown at its place", async (world) => {
    const { page } = world;
    await opened(world);
    await page.click(byId("rules-open"));
    await tryRule(page, ruleOf(10).replace("burst", "brust"));
    await page.waitForSelector(byId("rule-refusal"));
    assert.match(await textOf(page, "rule-refusal"), /^Line 2, column 20: /);
    assert.match(await textOf(page, "rule-excerpt"), /brust=10;\n {19}\^/);
    // Escape and a slash belong to the text.
    await page.focus(byId("rule-box"));
    await page.keyboard.type("/");
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
    await page.keyboard.press("Escape");
    await tryRule(page, ruleOf(10));
    await answered(page, (await replay(world, ruleOf(10))).keys.tripped);
    assert.equal(await page.$(byId("rule-refusal")), null);
    await page.click(byId("rule-clear"));
    await until(page, () => !document.querySelector('[data-testid="rules-answer"]'));
    assert.equal(new URL(page.url()).hash, "");
  });
}
