// Takes pictures of the page over made-up logs: `node test-browser/shots.mjs DIR [NAME...]`.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { launch } from "./support/browser.mjs";
import { settled } from "./support/page.mjs";
import { fixture, generate, Server } from "./support/weir.mjs";

const [directory = "shots", ...names] = process.argv.slice(2);
const WIDTHS = { 420: 844, 900: 700, 1280: 800 };
const RULE =
  "limit_req_zone $binary_remote_addr zone=one:1m rate=5r/s;\nlimit_req zone=one burst=20;";

/** The logs of each server, and the addresses within its session that are shown. */
const SERVERS = {
  demo: {
    normal: "",
    filtered: "?f=status~eq~404~503&f=path~ne~%2F",
    none: "?f=status~eq~999",
    refused: "?f=path~re~(",
    methods: "?by=method&top=50",
    rules: `#rule=${encodeURIComponent(RULE)}`,
    rulesMistake: "#rule=limit_req%20zone%3Done%3B",
  },
  hostile: { hostile: "", nofit: "?kind=error_log_line" },
  empty: { empty: "" },
  none: { drop: "" },
};

const folder = await mkdtemp(join(tmpdir(), "weir-shots-"));
const logs = { demo: [join(folder, "access.log")], empty: [join(folder, "empty.log")], none: [] };
logs.hostile = [fixture("dirt/lines.tsv")];
await generate(logs.demo[0], "8M");
await writeFile(logs.empty[0], "");
await mkdir(directory, { recursive: true });
const { browser, close } = await launch("chrome");
try {
  for (const [log, pages] of Object.entries(SERVERS)) {
    const wanted = Object.entries(pages).filter(([name]) => !names.length || names.includes(name));
    if (wanted.length > 0) await shootAll(logs[log], wanted);
  }
} finally {
  await close();
  await rm(folder, { recursive: true, force: true });
}

async function shootAll(files, pages) {
  const server = await Server.start(files);
  try {
    const address = await server.address;
    for (const [name, path] of pages) {
      for (const [width, height] of Object.entries(WIDTHS)) {
        for (const theme of ["light", "dark"]) {
          await shoot(name, address + path, { width: Number(width), height }, theme);
        }
      }
    }
  } finally {
    await server.end();
  }
}

async function shoot(name, address, viewport, theme) {
  const page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(name, message.text()));
  page.on("pageerror", (error) => console.log(name, error.message));
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(address);
  if (name !== "drop") await settled(page);
  if (address.includes("#rule=")) await page.waitForNetworkIdle();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) console.log(`${name} at ${viewport.width}: ${wide} pixels too wide`);
  const path = join(directory, `${name}-${viewport.width}-${theme}.png`);
  await page.screenshot({ path, fullPage: true });
  await page.close();
}
