// Takes pictures of the page with the stand-in server: `node mock/shots.mjs DIR [NAME...]`.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

import { CHROMIUM, CHROMIUM_ARGS } from "../test-browser/support/chromium.mjs";

const [directory = "shots", ...names] = process.argv.slice(2);
const ORIGIN = process.env.ORIGIN ?? "http://127.0.0.1:8181";
const PAGES = {
  drop: "/",
  normal: "/s/a0",
  hostile: "/s/a2",
  nofit: "/s/a3",
  single: "/s/a4",
  empty: "/s/a5",
  notime: "/s/a6",
  many: "/s/a7",
  growing: "/s/a8",
  gone: "/s/ffff",
  filtered:
    "/s/a0?f=status~eq~404~503&f=path~ne~%2F&f=time~ge~2024-05-12T18%3A00%3A00%2B02%3A00&f=time~lt~2024-05-13T00%3A00%3A00%2B02%3A00",
  none: "/s/a0?f=status~eq~999",
  refused: "/s/a0?f=path~re~(",
  methods: "/s/a0?by=method&top=50",
  mixed: "/s/a9",
  overlay: "/s/a9?over=firewall_event",
  errors: "/s/a9?kind=error_log_line",
  firewall: "/s/a9?kind=firewall_event",
  missing: "/s/a9?kind=error_log_line&by=method&f=client~starts~198&f=status~ne~404",
  rules:
    "/s/a0#rule=limit_req_zone%20%24binary_remote_addr%20zone%3Done%3A1m%20rate%3D5r%2Fs%3B%0Alimit_req%20zone%3Done%20burst%3D20%3B",
  rulesHostile: "/s/a0#rule=hostile",
  rulesNothing: "/s/a0#rule=nothing",
  rulesMistake: "/s/a0#rule=mistake",
  nothing: "/s/a9?kind=error_log_line&f=status~eq~404",
};
const WIDTHS = { 420: 844, 900: 700, 1280: 800 };

await mkdir(directory, { recursive: true });
const profile = await mkdtemp(join(tmpdir(), "weir-shots-"));
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? CHROMIUM,
  userDataDir: profile,
  args: CHROMIUM_ARGS,
});
try {
  for (const [name, path] of Object.entries(PAGES)) {
    if (names.length > 0 && !names.includes(name)) continue;
    for (const [width, height] of Object.entries(WIDTHS)) {
      for (const theme of ["light", "dark"]) await shoot(name, path, Number(width), height, theme);
    }
  }
} finally {
  await browser.close();
  await rm(profile, { recursive: true, force: true });
}

async function shoot(name, path, width, height, theme) {
  const page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(name, message.text()));
  page.on("pageerror", (error) => console.log(name, error.message));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(ORIGIN + path);
  await new Promise((done) => setTimeout(done, 900));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) console.log(`${name} at ${width}: ${wide} pixels too wide`);
  await page.screenshot({ path: join(directory, `${name}-${width}-${theme}.png`), fullPage: true });
  await page.close();
}
