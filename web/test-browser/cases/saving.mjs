// The menus that share and save: rows, lines, the chart and commands.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { findings, isNotCovered } from "../support/axe.mjs";
import { catchDownloads } from "../support/downloads.mjs";
import {
  byId,
  catchCopies,
  chips,
  choose,
  lastCopy,
  row,
  settled,
  toggleTheme,
  until,
} from "../support/page.mjs";
import { BINARY, fixture, report } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const NAME = "elastic-first-2000.log";
const HOSTILE = `<img src=x onerror=window.__pwned=1>\u202e & "quoted".log`;
const HOSTILE_FILE = "_img_src_x_onerror_window.__pwned_1______quoted_.log";
/** The items of each menu, in their order. */
const MENUS = {
  save: ["csv", "jsonl", "parquet", "arrow", "lines"].map((it) => `save-${it}`),
  share: [
    "share-link",
    "share-html",
    "share-picture",
    ...["png", "svg", "report", "grep", "export", "curl"].map((it) => `save-${it}`),
  ],
};

async function opened({ page, server }, file = LOG) {
  await page.goto(server.url);
  await choose(page, file);
  await settled(page);
}

/** Opens a menu, and waits until it is known whether the lines can be read. */
async function openMenu(page, name = "save") {
  await page.click(byId(`${name}-open`));
  await page.waitForSelector(`${byId(`${name}-menu`)}[data-probed="true"]`);
}

async function save(page, id) {
  const [name] = Object.entries(MENUS).find(([, items]) => items.includes(id));
  await openMenu(page, name);
  await page.click(byId(id));
}

const said = (page, pattern) =>
  until(
    page,
    (source) =>
      new RegExp(source).test(document.querySelector('[data-testid="save-done"]').textContent),
    pattern.source,
  );

const focusedId = (page) => page.evaluate(() => document.activeElement?.dataset.testid);
const menu = (page) => page.$(".menu");
/** The first menu of a page is loaded while it opens. */
const isFocused = (page, id) =>
  until(page, (wanted) => document.activeElement?.dataset.testid === wanted, id);

/** The lines of the log with a status. */
async function withStatus(status) {
  const text = await readFile(LOG, "utf8");
  return text.split("\n").filter((line) => line.includes(`" ${status} `));
}

/** Runs a copied command beside the log. */
async function shell(command) {
  const own = command.replace(/^weir /, `${BINARY} `);
  return (await promisify(execFile)("sh", ["-c", own], { cwd: dirname(LOG) })).stdout;
}

/** The size of a picture, and whether its corner and most of it are white. */
function look(page, base64) {
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const colors = new Set();
    let white = 0;
    for (let at = 0; at < data.length; at += 4) {
      const color = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
      colors.add(color);
      if (color === 0xffffff) white += 4;
    }
    return { width: image.width, white: white / data.length, colors: colors.size };
  }, base64);
}

/** What a browser sees in an SVG image. */
function readSvg(page, text) {
  return page.evaluate((text) => {
    const image = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      root: image.documentElement.tagName,
      names: [...new Set([...image.querySelectorAll("*")].map((one) => one.tagName))].sort(),
      texts: [...image.querySelectorAll("text")].map((one) => one.textContent),
      ground: image.querySelector("rect").getAttribute("fill"),
      bars: image.querySelectorAll("rect").length,
    };
  }, text);
}

export function saving(define, { browserName }) {
  define("the menus are walked by keys, and Escape only closes them", async (world) => {
    const { page } = world;
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    for (const [name, items] of Object.entries(MENUS)) {
      await page.focus(byId(`${name}-open`));
      await page.keyboard.press("Enter");
      await isFocused(page, items[0]);
      const walked = [];
      for (const _ of items) {
        walked.push(await focusedId(page));
        await page.keyboard.press("ArrowDown");
      }
      assert.deepEqual(walked, items);
      assert.equal(await focusedId(page), items[0], "the last is followed by the first");
      await page.keyboard.press("End");
      assert.equal(await focusedId(page), items.at(-1));
      await page.keyboard.press("Escape");
      assert.equal(await menu(page), null);
      assert.equal(await focusedId(page), `${name}-open`);
      await chips(page, 1);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      assert.equal(await menu(page), null, "Tab leaves it");
      await page.click(byId(`${name}-open`));
      await page.click("h2");
      assert.equal(await menu(page), null, "and so does a click beside it");
    }
  });

  define("the menus fit every width, in both themes", async (world) => {
    const { page } = world;
    await opened(world);
    for (const [width, names] of [
      [1280, ["share", "save"]],
      [800, ["share", "save"]],
      [390, ["more"]],
    ]) {
      await page.setViewport({ width, height: 900 });
      await until(page, (wanted) => innerWidth === wanted, width);
      for (const name of names) {
        await openMenu(page, name);
        const { left, right, bottom } = await page.$eval(byId(`${name}-menu`), (one) => {
          const { left, right, bottom } = one.getBoundingClientRect();
          return { left, right, bottom };
        });
        assert.ok(left >= 0 && right <= width, `${left} to ${right} of ${width}`);
        assert.ok(bottom <= 900, `${name} ends at ${bottom}`);
        assert.deepEqual((await findings(page)).filter(isNotCovered), [], `${width}, ${name}`);
        await page.keyboard.press("Escape");
        await toggleTheme(page);
      }
    }
  });

  define("rows are saved as CSV and as JSON lines", async (world) => {
    const { page, server } = world;
    const downloads = await catchDownloads(world);
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    const { matching } = await report(LOG, "--where", "status=404");
    await save(page, "save-csv");
    const csv = await downloads.file(`${NAME}-status_404.csv`);
    const [session] = /[0-9a-f]{32}/.exec(page.url());
    const exported = async (format) => {
      const address = `/api/sessions/${session}/export?format=${format}&where=status%3D404`;
      return (await fetch(new URL(address, server.url))).text();
    };
    assert.equal(csv.toString(), await exported("csv"));
    assert.equal(csv.toString().trimEnd().split("\r\n").length, matching + 1);
    assert.equal(await menu(page), null);
    await save(page, "save-jsonl");
    const jsonl = (await downloads.file(`${NAME}-status_404.jsonl`)).toString();
    assert.equal(jsonl, await exported("jsonl"));
    const rows = jsonl
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.equal(rows.length, matching);
  });

  define("rows are saved as tables", async (world) => {
    const { page, server } = world;
    const downloads = await catchDownloads(world);
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    const [session] = /[0-9a-f]{32}/.exec(page.url());
    for (const [format, ending, first, last] of [
      ["parquet", "parquet", "PAR1", "PAR1"],
      ["arrow", "arrows", "\xff\xff\xff\xff", "\xff\xff\xff\xff\0\0\0\0"],
    ]) {
      await save(page, `save-${format}`);
      const table = await downloads.file(`${NAME}-status_404.${ending}`);
      const text = table.toString("latin1");
      assert.ok(text.startsWith(first) && text.endsWith(last), `a whole ${format}`);
      const address = `/api/sessions/${session}/export?format=${format}&where=status%3D404`;
      const answer = await fetch(new URL(address, server.url));
      assert.ok(table.equals(Buffer.from(await answer.arrayBuffer())), `${format} of the filter`);
    }
  });

  define("lines are saved as they are in the file", async (world) => {
    const { page } = world;
    const downloads = await catchDownloads(world);
    const log = world.path("bytes.log");
    const text = await readFile(LOG);
    const odd = Buffer.from(
      '192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] "GET /\xff\xfe HTTP/1.1" 404 5 "-" "-"\n',
      "latin1",
    );
    await writeFile(log, Buffer.concat([text, odd]));
    await opened(world, log);
    await save(page, "save-lines");
    await said(page, /^Saved 2,001 lines as bytes\.log\.txt$/);
    assert.deepEqual(await downloads.file("bytes.log.txt"), Buffer.concat([text, odd]));
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await save(page, "save-lines");
    const some = (await withStatus("404")).map((line) => `${line}\n`).join("");
    const saved = await downloads.file("bytes.log-status_404.txt");
    assert.deepEqual(saved, Buffer.concat([Buffer.from(some), odd]));
  });

  define("lines that this page does not have are not offered", async (world) => {
    const { page } = world;
    await opened(world);
    await page.reload();
    await settled(page);
    await openMenu(page);
    const item = await page.$eval(byId("save-lines"), (one) => ({
      isDisabled: one.ariaDisabled,
      text: one.textContent,
    }));
    assert.equal(item.isDisabled, "true");
    assert.match(item.text, /is not on this page any more/);
    await page.click(byId("save-lines"));
    assert.notEqual(await menu(page), null, "it does nothing");
  });

  define("the chart is saved as pixels and as SVG, light in both themes", async (world) => {
    const { page } = world;
    const downloads = await catchDownloads(world);
    await opened(world);
    await page.click(byId("theme-toggle"));
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await save(page, "save-png");
    await said(page, /^Saved the chart as elastic-first-2000\.log-status_404\.png$/);
    const png = await downloads.file(`${NAME}-status_404.png`);
    const { width, white, colors } = await look(page, png.toString("base64"));
    assert.equal(width, 1920);
    assert.ok(white > 0.6 && colors > 20, `${white} is white, ${colors} colours`);
    await save(page, "save-svg");
    const svg = (await downloads.file(`${NAME}-status_404.svg`)).toString();
    const { root, names, texts, ground, bars } = await readSvg(page, svg);
    assert.equal(root, "svg");
    assert.deepEqual(names, ["rect", "svg", "text", "title"]);
    assert.equal(ground, "#ffffff");
    assert.ok(bars > 20);
    const { matching } = await report(LOG, "--where", "status=404");
    assert.match(texts[0], /^Requests per .+, 2015-05-17 .+ UTC$/);
    assert.equal(texts[1], `${NAME}: ${matching} requests`);
    assert.equal(texts[2], "Filter: status is 404");
    assert.ok(texts.includes(`4xx: ${matching}`), texts.join("; "));
  });

  define("the commands print the same", async (world) => {
    const { page } = world;
    await catchCopies(page);
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await save(page, "save-grep");
    const lines = (await withStatus("404")).map((line) => `${line}\n`).join("");
    assert.equal(await shell(await lastCopy(page, 1)), lines);
    await said(page, /^Copied$/);
    await save(page, "save-report");
    const command = await lastCopy(page, 2);
    const printed = JSON.parse(await shell(`${command.replace("report", "report --json")}`));
    assert.deepEqual(printed.top, (await report(LOG, "--where", "status=404")).top);
    await save(page, "save-export");
    const exported = await lastCopy(page, 3);
    assert.match(exported, /^weir export --output \S+-status_404\.csv --kind request /);
    const rows = await shell(exported.replace(/--output \S+/, "--to csv"));
    assert.equal(rows.trimEnd().split("\n").length, 1 + printed.matching);
    await save(page, "save-curl");
    const fetched = await lastCopy(page, 4);
    assert.match(fetched, /^curl -OJ 'http:\/\/[^']+\/export\?format=csv&kind=request&where=/);
    assert.equal(await shell(fetched.replace("-OJ", "-s")), rows);
  });

  define("the command without a filter prints the records alone", async (world) => {
    const { page } = world;
    await catchCopies(page);
    const log = world.path("dirty.log");
    const lines = (await readFile(LOG, "utf8")).split("\n").slice(0, 20);
    const records = lines.map((line) => `${line}\n`).join("");
    await writeFile(log, `${records}no record\n`);
    await opened(world, log);
    await save(page, "save-grep");
    const command = await lastCopy(page, 1);
    assert.equal(command, "weir export --to lines dirty.log");
    assert.equal(await shell(command.replace("dirty.log", log)), records);
  });

  define("a hostile name of a log is harmless in every file", async (world) => {
    const { page } = world;
    const downloads = await catchDownloads(world);
    const log = world.path(HOSTILE);
    await copyFile(LOG, log);
    await opened(world, log);
    await save(page, "save-csv");
    assert.ok((await downloads.file(`${HOSTILE_FILE}.csv`)).length > 0);
    await save(page, "save-svg");
    const svg = (await downloads.file(`${HOSTILE_FILE}.svg`)).toString();
    const { names, texts } = await readSvg(page, svg);
    assert.deepEqual(names, ["rect", "svg", "text", "title"]);
    assert.ok(texts[1].startsWith("<img src=x onerror=window.__pwned=1>\\u202e"), texts[1]);
    assert.equal(await page.evaluate(() => window.__pwned), undefined);
  });

  // What a server reads does not depend on the browser.
  if (browserName !== "chromium") return;
  define(
    "lines on the disk of the server are saved from there",
    async (world) => {
      const { page, server } = world;
      const downloads = await catchDownloads(world);
      await page.goto(server.url);
      await settled(page);
      await save(page, "save-lines");
      assert.deepEqual(await downloads.file(`${NAME}.txt`), await readFile(LOG));
    },
    { args: [LOG] },
  );
}
