// A log with hostile text in every field: it is shown as text.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import {
  altClick,
  atValue,
  byId,
  chips,
  choose,
  numbers,
  numbersOf,
  row,
  settled,
  shows,
} from "../support/page.mjs";
import { report } from "../support/weir.mjs";

const SCRIPT = "<script>window.__pwned=1;alert(1)</script>";
const IMAGE = "<img src=x onerror=window.__pwned=2>";
const VALUES = {
  path: [
    `/${SCRIPT}`,
    `/${IMAGE}`,
    "/\u001b[31mred\u001b]0;title\u0007",
    "/safe\u202egnp.exe",
    "/two\u2028lines",
    "/nul\u0000byte",
    "/'\\\"`;--",
    "/%3Cscript%3E",
    "/__proto__",
    "/constructor",
    "/\ufffd",
  ],
  user_agent: [
    SCRIPT,
    IMAGE,
    "\u001b[2J\u001b[H",
    "javascript:window.__pwned=3",
    "{{constructor.constructor('window.__pwned=4')()}}",
    "\u202eevil\u2066",
    "\\x22><svg onload=window.__pwned=5>",
  ],
  referer: [
    `http://x/${SCRIPT}`,
    "javascript:window.__pwned=6",
    `data:text/html,${SCRIPT}`,
    "&lt;b&gt;",
    "http://\u0430pple.com/",
  ],
  user: [
    "<svg/onload=window.__pwned=7>",
    "\u200b",
    "__proto__",
    "</title><script>window.__pwned=8</script>",
  ],
};
/** Values of each field that are clicked. */
const CLICKED = 4;
/** Bytes that are not valid UTF-8, and look the same once they are replaced. */
const INVALID = [Buffer.from("2fff", "hex"), Buffer.from("2ffe", "hex")];

const pick = (values, at) => values[at % values.length];

function line(at, path) {
  const head = `192.0.2.${at % 9} - ${pick(VALUES.user, at)} [17/Dec/2025:09:0${at % 10}:01 +0100] "GET `;
  const tail = ` HTTP/1.1" 200 12 "${pick(VALUES.referer, at)}" "${pick(VALUES.user_agent, at)}"\n`;
  return Buffer.concat([Buffer.from(head), path, Buffer.from(tail)]);
}

function log() {
  const lines = Array.from({ length: 770 }, (_, at) =>
    line(at, Buffer.from(pick(VALUES.path, at))),
  );
  const invalid = Array.from({ length: 150 }, (_, at) => line(at, INVALID[at % 3 === 0 ? 1 : 0]));
  return Buffer.concat([...lines, ...invalid]);
}

export function hostile(define) {
  define("nothing in a log is executed, everything is shown as text", async (world) => {
    const { page, server } = world;
    const file = world.path(`${IMAGE}\u202e.log`);
    await writeFile(file, log());
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    const expected = await report(file, "--top", "50");
    assert.equal(expected.records, 920);
    await page.goto(`${page.url()}?top=50`);
    await settled(page);
    await shows(page, expected);
    const { tops } = await numbers(page);
    const paths = tops.path.map(([value]) => value);
    for (const path of VALUES.path)
      assert.ok(paths.includes(path), `${JSON.stringify(path)} is not on the page`);
    await harmless(page);
    // Each becomes a chip, a tooltip and an address, unchanged.
    for (const field of Object.keys(VALUES)) {
      for (const value of VALUES[field].slice(0, CLICKED)) {
        const one = await row(page, field, value);
        const count = await one.evaluate((element) => element.dataset.count);
        await one.click();
        await chips(page, 1);
        assert.equal(
          (await numbers(page)).requests,
          Number(count),
          `${field} ${JSON.stringify(value)}`,
        );
        await page.click(byId("clear-filters"));
        await chips(page, 0);
      }
    }
    await harmless(page);
    await page.reload();
    await settled(page);
    await harmless(page);
  });

  define("fields with the names of what every object has are fields", async (world) => {
    const { page, server } = world;
    const names = ["constructor", "toString", "__proto__"];
    const lines = Array.from({ length: 60 }, (_, number) => {
      const own = names.map((name, at) => `"${name}":"${name[0]}${number % (at + 2)}"`).join(",");
      const status = [200, 404][number % 2];
      return `{"time":"2025-12-17T09:00:${String(number).padStart(2, "0")}Z","remote_addr":"192.0.2.1","method":"GET","uri":"/","status":${status},${own}}\n`;
    });
    const file = world.path("fields.log");
    await writeFile(file, lines.join(""));
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    const expected = await report(file);
    const { tops } = await numbers(page);
    for (const name of names) {
      const rows = expected.top[name].map(({ value, count }) => [value, count]);
      assert.deepEqual(tops[name], rows, name);
    }
    await page.focus(byId("filter-box"));
    await page.keyboard.type("constructor=c1 and toString=t0");
    await page.keyboard.press("Enter");
    await chips(page, 2);
    const both = await report(file, "--where", "constructor=c1", "--where", "toString=t0");
    assert.equal((await numbers(page)).requests, both.matching);
  });

  define("values that differ only in invalid UTF-8 stay distinct", async (world) => {
    const { page, server } = world;
    const file = world.path("invalid.log");
    await writeFile(file, log());
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    await page.goto(`${page.url()}?top=50`);
    await settled(page);
    const whole = await report(file, "--top", "50");
    const alike = await page.$$(`${byId("top-path")} ${byId("top-row")}[data-value="/\ufffd"]`);
    // The two, and the path that really holds U+FFFD.
    assert.equal(alike.length, 3);
    const counts = await Promise.all(
      alike.map((one) => one.evaluate((element) => Number(element.dataset.count))),
    );
    assert.deepEqual(
      [...counts].sort((a, b) => a - b),
      [50, 70, 100],
    );
    for (const [at, count] of counts.entries()) {
      const fresh = () => page.$$(`${byId("top-path")} ${byId("top-row")}[data-value="/\ufffd"]`);
      await (await fresh())[at].click(atValue);
      await chips(page, 1);
      assert.equal((await numbers(page)).requests, count);
      await page.reload();
      await settled(page);
      assert.equal((await numbers(page)).requests, count, "the address does not keep the bytes");
      await page.click(byId("clear-filters"));
      await chips(page, 0);
      await altClick(page, (await fresh())[at]);
      await chips(page, 1);
      assert.equal((await numbers(page)).requests, whole.matching - count);
      await page.click(byId("clear-filters"));
      await chips(page, 0);
    }
    assert.deepEqual(await numbers(page), numbersOf(whole));
  });

  define("unparsed lines are shown as text too", async (world) => {
    const { page, server } = world;
    const file = world.path("dirt.log");
    const dirt = [SCRIPT, IMAGE, "\u001b[31m", "\u0000\u0001\u0002", "\u202e\u2066"]
      .map((text) => `${text}\n`)
      .join("");
    await writeFile(file, Buffer.concat([log(), Buffer.from(dirt), Buffer.from([0xff, 0xfe, 10])]));
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    await shows(page, await report(file));
    await page.click(`${byId("total-unparsed")} ~ .figure-note button`);
    const samples = await page.waitForSelector(byId("samples"));
    const text = await samples.evaluate((one) => one.textContent);
    for (const shown of [SCRIPT, IMAGE, "\\x1b[31m", "\\u202e"])
      assert.ok(text.includes(shown), `${shown} in ${text}`);
    await harmless(page);
  });
}

/** Asserts that the log added no elements to the page. */
async function harmless(page) {
  const found = await page.evaluate(() => ({
    pwned: window.__pwned ?? null,
    scripts: [...document.scripts].map((script) => new URL(script.src).pathname),
    strange: document.querySelectorAll(
      "img, iframe, object, embed, form:not(.filter-box), [onerror], [onload], main svg:not(.spark, .icon), main .spark > :not(path)",
    ).length,
    inText: document.querySelectorAll(".log-text > :not(.escape), .escape > *").length,
    // The drawn text has no characters that would move their neighbours.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
    unsafe: /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText),
  }));
  assert.deepEqual(found, {
    pwned: null,
    scripts: ["/assets/app.js"],
    strange: 0,
    inText: 0,
    unsafe: false,
  });
}
