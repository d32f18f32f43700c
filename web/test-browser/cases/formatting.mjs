// Gives a log its format on the page.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { allLists } from "../support/lists.mjs";
import { byId, choose, openSources, settled, until } from "../support/page.mjs";
import { Server } from "../support/weir.mjs";

const LINES = 40;

/** A log in a format that nobody knows. */
async function writeOwn(world) {
  const path = world.path("own.log");
  const line = (at) =>
    `2025-12-17 09:03:${String(at).padStart(2, "0")},123 INFO 192.0.2.${at % 5}:443 ` +
    `"GET /${at % 7} HTTP/1.1" 17\n`;
  await writeFile(path, Array.from({ length: LINES }, (_, at) => line(at)).join(""));
  return path;
}

/** Waits until the definition in the box fits this many sample lines. */
const fits = (page, count) =>
  until(
    page,
    (count) => document.querySelector('[data-testid="format-fit"]')?.dataset.fits === String(count),
    count,
  );

/** Replaces the definition. */
const define = (page, text) =>
  page.$eval(
    byId("format-definition"),
    (box, text) => {
      box.value = text;
      box.dispatchEvent(new InputEvent("input", { bubbles: true }));
    },
    text,
  );

/** Applies the definition, once the text in the box has been tried. */
async function apply(page) {
  await page.waitForSelector(`${byId("format-apply")}:not(:disabled)`);
  await page.click(byId("format-apply"));
}

const definitionOf = (page) => page.$eval(byId("format-definition"), (box) => box.value);

/** Waits until the page shows this many requests. */
const requests = (page, count) =>
  until(
    page,
    (count) =>
      document.querySelector('[data-testid="total-requests"]')?.dataset.value === String(count),
    count,
  );

export function formatting(test) {
  test("a log that nobody knows is read in the format that is written into the box", async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await choose(page, await writeOwn(world));
    await settled(page);
    await page.waitForSelector(byId("format-box"));
    await fits(page, LINES);
    const suggested = await definitionOf(page);
    assert.match(suggested, /^\$\{time\(%Y-%m-%d\)\} .* \$extra_1 .*\$request/);
    assert.match(await page.$eval(byId("session-complete"), (it) => it.textContent), /No line/);
    assert.deepEqual(await findings(page), []);

    await define(page, `${suggested} $`);
    const error = await page.waitForSelector(byId("format-error"));
    assert.match(await error.evaluate((it) => it.textContent), /Character \d+: a variable's name/);
    assert.ok(await page.$eval(byId("format-apply"), (it) => it.disabled));
    await define(page, suggested.replace('"$request"', '"$request" x'));
    await page.waitForSelector(byId("format-misfit"));
    await fits(page, 0);

    await define(page, suggested.replace("$extra_1", "$level"));
    await fits(page, LINES);
    await apply(page);
    await requests(page, LINES);
    await settled(page);
    assert.equal(await page.$(byId("format-box")), null);
    const complete = await page.$eval(byId("session-complete"), (it) => it.textContent);
    assert.equal(complete, "Everything read");
    assert.equal(await page.$$eval(byId("progress-row"), (rows) => rows.length), 1);
    const lists = (await allLists(page)).map((list) => list.title);
    assert.ok(
      lists.some((title) => title.startsWith("Level")),
      lists.join(),
    );
  });

  test("the values behind a known line are given names", async (world) => {
    const { page, server } = world;
    const path = world.path("tail.log");
    const line = '192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8"';
    await writeFile(path, `${line} 7 "x"\n${line} 8\n`);
    await page.goto(server.url);
    await choose(page, path);
    await settled(page);
    assert.equal(await page.$(byId("format-box")), null, "it was read");
    await openSources(page);
    await page.click(byId("format-open"));
    await fits(page, 2);
    assert.equal(await definitionOf(page), 'COMBINED and $extra_1 "$extra_2"');
    await define(page, 'COMBINED and $shard "$pool"');
    await fits(page, 2);
    await apply(page);
    await until(page, () =>
      [...document.querySelectorAll(".family-tab")].some((it) =>
        it.textContent.startsWith("shard"),
      ),
    );
  });

  test("a file on the server's disk is read again", async (world) => {
    const server = await Server.start([await writeOwn(world)]);
    try {
      const page = await world.context.newPage();
      await page.goto(await server.address);
      await settled(page);
      await fits(page, LINES);
      await apply(page);
      await requests(page, LINES);
      await page.close();
    } finally {
      await server.end();
    }
  });

  test("a file that is no log is called what it is", async (world) => {
    const { page, server } = world;
    const files = [world.path("a.png"), world.path("letter.txt")];
    const png = [0x89, 0x50, 0x4e, 0x47, 13, 10, 0x1a, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52];
    await writeFile(files[0], Buffer.from(png));
    await writeFile(files[1], "Dear reader,\nthis is no log.\n");
    await page.goto(server.url);
    await choose(page, ...files);
    await settled(page);
    const reasons = await page.$$eval(byId("unread"), (all) => all.map((it) => it.textContent));
    assert.deepEqual(reasons.toSorted(), [
      "is a PNG image, not a log",
      "is a text without times or addresses, not a log",
    ]);
    const state = await page.$eval(byId("session-complete"), (it) => [
      it.textContent,
      it.className,
    ]);
    assert.deepEqual(state, ["No line was read", "header-state partial"]);
    assert.match(await page.$eval(byId("no-log"), (it) => it.textContent), /None of these files/);
    assert.equal(await page.$(byId("format-box")), null);
  });
}
