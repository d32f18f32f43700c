// The environment of a test: a server, a page in a browser, a folder, and a list of faults.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WAIT_MS } from "./page.mjs";
import { ServerProxy } from "./proxy.mjs";
import { slowDown } from "./slowFrames.mjs";
import { Server } from "./weir.mjs";

const VIEWPORT = { width: 1280, height: 900 };

export class World {
  /** Errors of the page that fail every test. */
  problems = [];
  #ends = [];

  /** Creates the environment; `allowed` are patterns of expected console errors. */
  static async start({ name, browser, downloads }, { args = [], command = [], allowed = [] } = {}) {
    const world = new World();
    world.browserName = name;
    world.downloadFolder = downloads;
    world.allowed = allowed;
    try {
      world.folder = await mkdtemp(join(tmpdir(), "weir-test-"));
      world.#ends.push(() => rm(world.folder, { recursive: true, force: true }));
      world.server = await Server.start(args, command);
      world.#ends.push(() => world.server.end());
      world.context = await browser.createBrowserContext();
      world.#ends.push(() => world.context.close());
      world.page = await world.newPage();
    } catch (error) {
      await world.end().catch(() => {});
      throw error;
    }
    return world;
  }

  /** Opens a page whose errors are recorded. */
  async newPage() {
    const page = await this.context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    await page.setViewport(VIEWPORT);
    await slowDown(page, this.browserName);
    await page.evaluateOnNewDocument(() => {
      window.violations = [];
      addEventListener("securitypolicyviolation", (event) => {
        window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
      });
    });
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warn") return;
      this.#note(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.#note(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      // The only dialog of the page: leaving interrupts an upload.
      if (dialog.type() !== "beforeunload") this.problems.push(`dialog: ${dialog.message()}`);
      void dialog.accept().catch(() => {});
    });
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      const isOwn = host === this.server.url.host || host === this.proxy?.url.host;
      if (!isOwn && !["data:", "about:", "blob:"].includes(protocol))
        this.#note(`request: ${request.url()}`);
    });
    return page;
  }

  #note(problem) {
    if (!this.allowed.some((pattern) => pattern.test(problem))) this.problems.push(problem);
  }

  /** Starts a proxy between page and server. */
  async startProxy() {
    this.proxy = await ServerProxy.start(this.server.url);
    this.#ends.push(() => this.proxy.end());
    return this.proxy;
  }

  path(name) {
    return join(this.folder, name);
  }

  /** Asserts that there were no errors. */
  async check() {
    const violations = await this.page.evaluate(() => window.violations ?? []);
    assert.deepEqual(violations, [], "the content security policy was violated");
    assert.deepEqual(this.problems, []);
  }

  async end() {
    const failures = [];
    for (const end of this.#ends.reverse()) await end().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}
