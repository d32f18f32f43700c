// The program under test: servers, reports and generated logs.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BINARY =
  process.env.WEIR_BINARY ?? `${process.env.CARGO_TARGET_DIR ?? `${ROOT}target`}/debug/weir`;
const OUTPUT_MAX = 1 << 28;
/** An end that takes longer than this hangs. */
const END_MS = 10_000;

if (!existsSync(BINARY)) {
  throw new Error(
    `there is no ${BINARY}; build it with \`cargo build --package weir\`, or name one in WEIR_BINARY`,
  );
}

/** The path of a real log that the repository keeps for its tests. */
export const fixture = (name) => `${ROOT}crates/testkit/fixtures/${name}`;

/** Runs `weir` to its end and gives back what it printed. */
export async function run(...args) {
  const { stdout } = await promisify(execFile)(BINARY, args, { maxBuffer: OUTPUT_MAX });
  return stdout;
}

/** What `weir report --json` says: the numbers that the page has to show. */
export async function report(...args) {
  try {
    return JSON.parse(await run("report", "--json", ...args));
  } catch (error) {
    // Where no line fitted it says so by its exit code, and prints the report all the same.
    if (error.code === 1) return JSON.parse(error.stdout);
    throw error;
  }
}

/** Writes about `size` of made-up traffic to a file. */
export async function generate(file, size, seed = 1) {
  await run("demo", "--write", file, "--size", size, "--seed", String(seed));
}

/** One running server. */
export class Server {
  /** Starts it on a free port: the page, or another one that a subcommand serves. */
  static async start(args = [], command = []) {
    const child = spawn(BINARY, [...command, "--listen", "127.0.0.1:0", "--no-open", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const server = new Server(child);
    await server.address;
    return server;
  }

  constructor(child) {
    this.child = child;
    this.said = "";
    this.ended = new Promise((done) => child.once("exit", (code, signal) => done(signal ?? code)));
    this.orphan = () => child.kill("SIGKILL");
    process.once("exit", this.orphan);
    child.stderr.on("data", (text) => (this.said += text));
    this.address = this.readAddress();
  }

  async readAddress() {
    for await (const line of createInterface({ input: this.child.stdout })) {
      const address = /http:\/\/\S+/.exec(line)?.[0];
      if (!address) continue;
      this.url = new URL(address);
      return this.url;
    }
    throw new Error(`weir printed no address: ${this.said}`);
  }

  /** The server's own report of a session. */
  async report(session) {
    const response = await fetch(new URL(`/api/sessions/${session}/report`, this.url));
    assert.equal(response.status, 200);
    return response.json();
  }

  /** Ends it as Ctrl-C does, and sees that it goes. */
  async end() {
    process.removeListener("exit", this.orphan);
    this.child.kill("SIGTERM");
    const late = setTimeout(this.orphan, END_MS);
    const how = await this.ended;
    clearTimeout(late);
    assert.notEqual(how, "SIGKILL", `weir did not end within ${END_MS} ms of SIGTERM`);
    assert.ok(!/panicked/.test(this.said), this.said);
  }
}
