// Takes the pictures of README, and its moving one, in which a log is dropped, a range is brushed, a
// client tells its story and a rule is tried. `npm run tour` writes them to docs/. It needs img2webp
// (Debian: webp), and target/debug/weir or the program that WEIR_BINARY names.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { launch } from "./support/browser.mjs";
import { byId, choose, settled } from "./support/page.mjs";
import { generate, Server } from "./support/weir.mjs";

const [directory = "../docs"] = process.argv.slice(2);
const RULE =
  "limit_req_zone $binary_remote_addr zone=login:10m rate=30r/m;\nlimit_req zone=login burst=10;";
const ANSWER = `${byId("rules-answer")}[aria-busy="false"] ${byId("rule")}`;
/** The attack of the made-up traffic, as shares of the chart. */
const ATTACK = [0.57, 0.63];
/** Pixels of the picture for each of the page. */
const SCALE = 0.75;
/** How long a frame of a movement is shown, in milliseconds. */
const MOVE_MS = 40;
/** How long a state is shown that is to be read, in milliseconds. */
const READ_MS = 1_800;

/** A page of which frames are taken, with a mouse that can be seen. */
class Tour {
  frames = [];
  at = [640, 500];

  constructor(page, folder) {
    this.page = page;
    this.folder = folder;
  }

  /** Takes a frame, which is shown for so long. */
  async frame(shown_ms) {
    const path = join(this.folder, `${String(this.frames.length).padStart(4, "0")}.png`);
    await this.page.evaluate(showMouse, ...this.at);
    await this.page.screenshot({ path });
    this.frames.push([path, shown_ms]);
  }

  /** Takes frames until a wait ends, each shown for as long as it took. */
  async during(wait) {
    let isOver = false;
    const ended = wait.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const start = performance.now();
      await this.frame(0);
      this.frames.at(-1)[1] = Math.round(performance.now() - start);
    }
    await ended;
  }

  async moveTo(to, steps = 10) {
    const from = this.at;
    for (let step = 1; step <= steps; step += 1) {
      const part = (1 - Math.cos((Math.PI * step) / steps)) / 2;
      this.at = from.map((value, axis) => value + part * (to[axis] - value));
      await this.page.mouse.move(...this.at);
      await this.frame(MOVE_MS);
    }
  }

  async click(selector) {
    const box = await (await this.page.waitForSelector(selector)).boundingBox();
    await this.moveTo([box.x + Math.min(box.width / 2, 60), box.y + box.height / 2]);
    await this.page.mouse.down();
    await this.page.mouse.up();
  }

  async brush([from, to]) {
    const { left, width, y } = await this.page.$eval(byId("chart"), (chart) => {
      const box = chart.getBoundingClientRect();
      const { plotLeft, plotWidth } = chart.dataset;
      return { left: box.left + Number(plotLeft), width: Number(plotWidth), y: box.top + 90 };
    });
    await this.moveTo([left + from * width, y]);
    await this.page.mouse.down();
    await this.moveTo([left + to * width, y]);
    await this.page.mouse.up();
  }

  async type(selector, text) {
    await this.page.focus(selector);
    for (const part of text.match(/.{1,12}|\n/gs)) {
      await this.page.keyboard.type(part);
      await this.frame(MOVE_MS);
    }
  }

  async write(path) {
    const shown = this.frames.flatMap(([frame, shown_ms]) => ["-d", String(shown_ms), frame]);
    const list = join(this.folder, "frames.txt");
    await writeFile(list, ["-loop 0 -lossy -q 72 -m 4", ...shown, "-o", path].join("\n"));
    await promisify(execFile)("img2webp", [list]);
  }
}

/** Runs in the page: draws a mouse, since a picture has none. */
function showMouse(x, y) {
  let mouse = document.querySelector("#mouse");
  if (mouse === null) {
    const name = "http://www.w3.org/2000/svg";
    mouse = document.createElementNS(name, "svg");
    mouse.id = "mouse";
    Object.assign(mouse.style, { position: "fixed", zIndex: 99, pointerEvents: "none" });
    const arrow = mouse.appendChild(document.createElementNS(name, "path"));
    arrow.setAttribute("d", "M1 1v17l4-4 3 7 3-1.4-3-6.6h6z");
    Object.assign(arrow.style, { fill: "#111", stroke: "#fff", strokeWidth: 1.4 });
    document.body.append(mouse);
  }
  Object.assign(mouse.style, { left: `${x}px`, top: `${y}px` });
}

async function record(tour, log) {
  const { page } = tour;
  await tour.frame(READ_MS / 2);
  await choose(page, log);
  await tour.during(settled(page));
  await tour.frame(READ_MS);
  await tour.brush(ATTACK);
  await tour.during(settled(page));
  await tour.frame(READ_MS);
  await tour.click(`${byId("top-client")} ${byId("story-open")}`);
  await tour.during(page.waitForSelector(byId("story-timeline")));
  await page.waitForNetworkIdle({ idleTime: 300 });
  await tour.frame(READ_MS);
  await page.keyboard.press("Escape");
  await tour.click(byId("rules-open"));
  await page.waitForSelector(byId("rule-box"));
  await tour.type(byId("rule-box"), RULE);
  await tour.click(byId("rule-try"));
  await tour.during(page.waitForSelector(ANSWER));
  await tour.frame(2 * READ_MS);
}

/** Takes pictures of a data set: all of it, and a rule. */
async function takePictures(browser, address) {
  const page = await browser.newPage();
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.setViewport({ width: 1280, height: 1000 });
  await page.goto(address);
  await settled(page);
  await page.screenshot({ path: join(directory, "page.png") });
  await page.setViewport({ width: 1280, height: 1100 });
  await page.goto(`${address}?tab=rules#rule=${encodeURIComponent(RULE)}`);
  await page.waitForSelector(ANSWER);
  await page.waitForNetworkIdle();
  await page.screenshot({ path: join(directory, "rules.png") });
}

const folder = await mkdtemp(join(tmpdir(), "weir-tour-"));
const log = join(folder, "access.log");
await generate(log, "96M");
const server = await Server.start();
const { browser, close } = await launch("chrome");
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800, deviceScaleFactor: SCALE });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.goto(await server.address);
  const tour = new Tour(page, folder);
  await record(tour, log);
  await tour.write(join(directory, "tour.webp"));
  await takePictures(browser, page.url().replace(/[?#].*/, ""));
} finally {
  await close();
  await server.end();
  await rm(folder, { recursive: true, force: true });
}
