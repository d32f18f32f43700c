// The lines of a selection, and the story of one client.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { findings, isNotCovered } from "../support/axe.mjs";
import {
  byId,
  catchCopies,
  chips,
  choose,
  lastCopy,
  row,
  settled,
  storyEnds,
  until,
} from "../support/page.mjs";
import { BINARY, fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");

/** The lines of a log with a status. */
async function withStatus(status) {
  const text = await readFile(LOG, "utf8");
  return text.split("\n").filter((line) => line.includes(`" ${status} `));
}

/** Waits until the list has this many lines, and those on the screen are read, not only fetched. */
const listed = (page, total) =>
  until(
    page,
    (total) => {
      const list = document.querySelector('[data-testid="line-rows"]');
      const lines = [...document.querySelectorAll('[data-testid="line"] .line-text')];
      const isRead = (line) => line.textContent !== "…" && !line.querySelector(".line-fields");
      const areRead = lines.length > 0 && lines.every(isRead);
      return list?.dataset.total === String(total) && areRead;
    },
    total,
  );

/** The lines on the screen, with their numbers. */
const linesOf = (page) =>
  page.$$eval(byId("line"), (lines) =>
    lines.map((line) => [
      Number(line.getAttribute("aria-rowindex")),
      line.querySelector(".line-text").textContent,
    ]),
  );

/** Chooses the order of the lines. */
async function ordered(page, order) {
  await page.waitForSelector(byId(`lines-${order}`));
  await page.click(byId(`lines-${order}`));
  await until(
    page,
    (order) => document.querySelector(`[data-testid="lines-${order}"]`).ariaPressed === "true",
    order,
  );
}

/** Waits until the lines on the screen begin with these. */
const begins = (page, texts) =>
  until(
    page,
    (texts) => {
      const shown = [...document.querySelectorAll('[data-testid="line"] .line-text')];
      return texts.every((text, at) => shown[at]?.textContent === text);
    },
    texts,
  );

/** A line of a request at a second of a day. */
const request = (second, path, client = "192.0.2.7") =>
  `${client} - - [17/Dec/2025:09:00:${String(second).padStart(2, "0")} +0000] "GET ${path} HTTP/1.1" 200 5 "-" "-"`;

async function opened({ page, server }) {
  await catchCopies(page);
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

export function lines(define) {
  define("the lines of a filter are those of the file", async (world) => {
    const { page } = world;
    await opened(world);
    const expected = await withStatus("404");
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await page.click(byId("lines-open"));
    await ordered(page, "source");
    await listed(page, expected.length);
    const first = await linesOf(page);
    assert.ok(first.length > 5);
    for (const [number, text] of first) assert.equal(text, expected[number - 1], number);
    // Keys reach the last line, and come back.
    await page.focus(byId("line-rows"));
    await page.keyboard.press("End");
    await listed(page, expected.length);
    const last = (await linesOf(page)).at(-1);
    assert.deepEqual(last, [expected.length, expected.at(-1)]);
    const active = await page.$eval(byId("line-rows"), (list) =>
      list.getAttribute("aria-activedescendant"),
    );
    assert.equal(await page.$eval(`#${active} .line-text`, (line) => line.textContent), last[1]);
    await page.keyboard.press("Home");
    await listed(page, expected.length);
    assert.deepEqual((await linesOf(page))[0], [1, expected[0]]);
    assert.deepEqual(await findings(page), []);
    // What is copied is the same, and so is what the copied command prints.
    await page.click(byId("lines-copy"));
    assert.equal(await lastCopy(page, 1), expected.map((line) => `${line}\n`).join(""));
    await page.click(byId("lines-command"));
    const command = await lastCopy(page, 2);
    const shell = command.replace(/^weir /, `${BINARY} `);
    const { stdout } = await promisify(execFile)("sh", ["-c", shell], { cwd: dirname(LOG) });
    assert.equal(stdout, expected.map((line) => `${line}\n`).join(""));
    // Another filter is another list, which begins at its first line.
    await page.focus(byId("line-rows"));
    await page.keyboard.press("End");
    await page.keyboard.press("Escape");
    await chips(page, 0);
    await listed(page, 2000);
    assert.equal((await linesOf(page))[0][0], 1);
  });

  define("the story of a client can be shared and left", async (world) => {
    const { page } = world;
    await opened(world);
    const first = await page.$(`${byId("top-client")} ${byId("top-row")}`);
    const { value, count } = await first.evaluate(({ dataset }) => ({ ...dataset }));
    await first.hover();
    await (await page.waitForSelector(byId("story-open"))).click();
    const told = (page) =>
      until(
        page,
        (client, count) =>
          document.querySelector('[data-testid="story"]')?.dataset.value === client &&
          document.querySelector('[data-testid="story-totals"]')?.dataset.requests === count,
        value,
        count,
      );
    await told(page);
    await listed(page, count);
    for (const [, text] of await linesOf(page)) assert.ok(text.startsWith(`${value} `), text);
    assert.deepEqual(await findings(page), []);
    const address = page.url();
    assert.ok(address.includes(`story=${value}`), address);
    await page.keyboard.press("Escape");
    await storyEnds(page);
    await page.goForward();
    await told(page);
    const other = await world.newPage();
    await other.goto(address);
    await told(other);
    // This page does not have the file.
    await other.waitForSelector(byId("lines-message"));
    await other.click(byId("story-filter"));
    await chips(other, 1);
    assert.equal(await other.$(byId("story")), null);
    await other.close();
  });

  define("lines of several files are in the order of their times", async (world) => {
    const { page, server } = world;
    await catchCopies(page);
    const seconds = Array.from({ length: 20 }, (_, at) => at);
    const all = seconds.map((second) => request(second, `/${second}`));
    const files = [0, 1].map((odd) => world.path(`site-${odd}.log`));
    for (const [odd, file] of files.entries()) {
      const own = all.filter((_, at) => at % 2 === odd);
      await writeFile(file, own.map((line) => `${line}\n`).join(""));
    }
    await page.goto(server.url);
    await choose(page, ...files);
    await settled(page);
    await page.click(byId("lines-open"));
    await listed(page, 20);
    await begins(page, [...all].reverse().slice(0, 5));
    await page.click(byId("lines-copy"));
    const newest = [...all].reverse();
    assert.equal(await lastCopy(page, 1), newest.map((line) => `${line}\n`).join(""));
    await ordered(page, "oldest");
    await begins(page, all.slice(0, 5));
    await ordered(page, "source");
    await begins(page, [all[0], all[2], all[4]]);
    // A story tells what happened in its order.
    await page.click(`${byId("line-detail")} ${byId("story-open")}`);
    await page.waitForSelector(byId("story-totals"));
    const story = `${byId("story")} ${byId("line")} .line-text`;
    await until(
      page,
      (story, texts) => {
        const shown = [...document.querySelectorAll(story)].map((one) => one.textContent);
        return texts.every((text, at) => shown[at] === text);
      },
      story,
      all.slice(0, 5),
    );
  });

  define(
    "a line is shown with its fields, which filter, and with those around it",
    async (world) => {
      const { page } = world;
      await opened(world);
      const text = (await readFile(LOG, "utf8")).split("\n");
      await (await row(page, "status", "404")).click();
      await chips(page, 1);
      await page.click(byId("lines-open"));
      await ordered(page, "source");
      const errors = await withStatus("404");
      await listed(page, errors.length);
      await page.click(`${byId("line")}:nth-child(3)`);
      await page.waitForSelector(byId("line-field"));
      const own = errors[2];
      const fields = await page.$$eval(byId("line-field"), (all) =>
        Object.fromEntries(all.map(({ dataset }) => [dataset.field, dataset.value])),
      );
      assert.equal(fields.status, "404");
      for (const name of ["client", "path", "user_agent"])
        assert.ok(own.includes(fields[name]), name);
      assert.equal(await page.$eval(byId("line-whole"), (one) => one.textContent), own);
      assert.deepEqual((await findings(page)).filter(isNotCovered), []);
      // Its neighbours in the file need not match.
      await page.click(byId("line-around"));
      await page.waitForSelector(byId("line-context"));
      const around = await page.$$eval(`${byId("line-context")} li`, (all) =>
        all.map((one) => [one.textContent, one.ariaCurrent]),
      );
      const at = text.indexOf(own);
      const expected = text.slice(Math.max(0, at - 10), at + 11);
      assert.deepEqual(
        around.map(([line]) => line),
        expected,
      );
      assert.deepEqual(around.find(([, current]) => current === "true")?.[0], own);
      // A field filters, and another one is left out.
      const field = (name, action) =>
        `${byId("line-field")}[data-field="${name}"] ${byId(`line-field-${action}`)}`;
      await page.click(field("method", "include"));
      await chips(page, 2);
      const gets = errors.filter((line) => line.includes('"GET '));
      await listed(page, gets.length);
      // The list begins anew, and so the line that is shown is the first one.
      await until(
        page,
        (first) => document.querySelector('[data-testid="line-whole"]')?.textContent === first,
        gets[0],
      );
      await page.waitForSelector(field("path", "exclude"));
      const path = await page.$eval(
        `${byId("line-field")}[data-field="path"]`,
        ({ dataset }) => dataset.value,
      );
      await page.click(field("path", "exclude"));
      await chips(page, 3);
      const left = gets.filter(
        (line) => !line.includes(` ${path} `) && !line.includes(` ${path}?`),
      );
      assert.ok(left.length < gets.length);
      await listed(page, left.length);
    },
  );

  define("what is copied of lines is what stands in the file", async (world) => {
    const { page, server } = world;
    await catchCopies(page);
    const odd = [
      request(1, "/a\u202eb\u0007"),
      request(2, `/${"x".repeat(3_000)}`),
      request(3, "/tab\tbed"),
    ];
    const file = world.path("odd.log");
    await writeFile(file, odd.map((line) => `${line}\n`).join(""));
    await page.goto(server.url);
    await choose(page, file);
    await settled(page);
    await page.click(byId("lines-open"));
    await ordered(page, "source");
    await listed(page, 3);
    await page.focus(byId("line-rows"));
    await page.keyboard.down("Control");
    await page.keyboard.press("c");
    await page.keyboard.up("Control");
    assert.equal(await lastCopy(page, 1), odd[0], "the active line");
    const selected = (from, to) =>
      page.evaluate(
        (from, to) => {
          const rows = [...document.querySelectorAll('[data-testid="line"]')];
          const range = document.createRange();
          range.setStartBefore(rows[from].querySelector(".line-text"));
          range.setEndAfter(rows[to].querySelector(".line-text"));
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          const clipboardData = new DataTransfer();
          const event = new ClipboardEvent("copy", { clipboardData, bubbles: true });
          document.querySelector('[data-testid="line-rows"]').dispatchEvent(event);
          return clipboardData.getData("text/plain");
        },
        from,
        to,
      );
    assert.equal(await selected(0, 2), odd.join("\n"), "all of them");
    assert.equal(await selected(0, 0), odd[0], "one of them");
    // Wrapped, a line has three rows, and the list holds its place.
    const height = () => page.$eval(byId("line"), (one) => one.offsetHeight);
    const before = await height();
    await page.click(byId("lines-wrap"));
    await until(
      page,
      (before) => document.querySelector('[data-testid="line"]').offsetHeight > 2 * before,
      before,
    );
    assert.deepEqual((await findings(page)).filter(isNotCovered), []);
  });

  const onDisk = { args: [LOG] };
  const read = async (world) => {
    const { page, server } = world;
    await page.goto(server.url);
    await settled(page);
    await page.click(byId("lines-open"));
    await ordered(page, "source");
    await listed(page, 2000);
    const text = await readFile(LOG, "utf8");
    assert.equal((await linesOf(page))[0][1], text.split("\n")[0]);
    // A line leads to the story of its client.
    await page.click(`${byId("line-detail")} ${byId("story-open")}`);
    await page.waitForSelector(byId("story-totals"));
  };
  define("lines on the disk of the server are read from there", read, onDisk);

  const followed = join(tmpdir(), `weir-tail-${process.pid}.log`);
  const lineAt = (number) => request(Math.floor(number / 10), `/${number}`);
  const write = (from, to) => {
    const lines = Array.from({ length: to - from }, (_, at) => `${lineAt(from + at)}\n`);
    appendFileSync(followed, lines.join(""));
  };
  // The server of a test is started before its body.
  writeFileSync(followed, "");
  write(0, 100);
  define(
    "the newest lines come at the top, and the list holds still while one reads",
    async (world) => {
      const { page, server } = world;
      await page.goto(server.url);
      await page.waitForSelector(byId("lines-open"));
      await page.click(byId("lines-open"));
      await begins(page, [lineAt(99), lineAt(98)]);
      write(100, 103);
      await begins(page, [lineAt(102), lineAt(101), lineAt(100), lineAt(99)]);
      const held = (isHeld) =>
        until(
          page,
          (isHeld) => document.querySelector('[data-testid="line-tail"]')?.dataset.held === isHeld,
          String(isHeld),
        );
      await held(false);
      await page.$eval(byId("line-rows"), (list) => {
        list.scrollTop = 40 * 22;
      });
      await held(true);
      const top = lineAt(62);
      await begins(page, [top]);
      const place = () => page.$eval(byId("line"), (line) => line.getBoundingClientRect().top);
      const before = await place();
      write(103, 110);
      await listed(page, 110);
      await begins(page, [top]);
      assert.equal(await place(), before);
      assert.equal((await linesOf(page))[0][0], 48);
      assert.match(await page.$eval(byId("line-tail"), (one) => one.textContent), /47 newer/);
      await page.click(byId("line-newest"));
      await begins(page, [lineAt(109)]);
      await held(false);
      // The rate is that of the last seconds, however long a busy machine takes to show it.
      let next = 110;
      const writing = setInterval(() => write(next, ++next), 300);
      await until(page, () =>
        /now \d/.test(document.querySelector('[data-testid="live-now"]')?.textContent ?? ""),
      );
      clearInterval(writing);
      rmSync(followed);
    },
    { args: ["--follow", followed] },
  );
}
