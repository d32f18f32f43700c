// The program under test: servers, reports and generated logs.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** The program under test. */
export const BINARY =
  process.env.WEIR_BINARY ?? `${process.env.CARGO_TARGET_DIR ?? `${ROOT}target`}/debug/weir`;
const OUTPUT_MAX = 1 << 28;
/** A server that takes longer to stop hangs. */
const END_MS = 120_000;

if (!existsSync(BINARY)) {
  throw new Error(
    `there is no ${BINARY}; build it with \`cargo build --package weir\`, or name one in WEIR_BINARY`,
  );
}

/** Returns the path of a real log of the test data. */
export const fixture = (name) => `${ROOT}crates/testkit/fixtures/${name}`;

/** Runs `weir` and returns its output. */
export async function run(...args) {
  const { stdout } = await promisify(execFile)(BINARY, args, { maxBuffer: OUTPUT_MAX });
  return stdout;
}

/** Runs `weir`, also if it fails because no line was parsed, and returns its output. */
export function runAnyway(...args) {
  return run(...args).catch((error) => {
    if (error.code === 1) return error.stdout;
    throw error;
  });
}

/** Returns the output of `weir report --json`: the numbers that the page must show. */
export async function report(...args) {
  return JSON.parse(await runAnyway("report", "--json", ...args));
}

/** Returns the output of `weir rules --json`, also if a rule rejects requests. */
export async function rules(...args) {
  const output = run("rules", "--json", ...args).catch((error) => {
    if (error.code === 3) return error.stdout;
    throw error;
  });
  return JSON.parse(await output).rules;
}

/** Writes about `size` of synthetic traffic to a file. */
export async function generate(file, size, seed = 1) {
  await run("demo", "--write", file, "--size", size, "--seed", String(seed));
}

/** A running server. */
export class Server {
  /** Starts the server of a subcommand, on a free port or at a given host and port. */
  static async start(args = [], command = [], listen = "127.0.0.1:0") {
    const child = spawn(BINARY, [...command, "--listen", listen, "--no-open", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const server = new Server(child);
    await server.address;
    return server;
  }

  constructor(child) {
    this.child = child;
    this.stderr = "";
    this.ended = new Promise((done) => child.once("exit", (code, signal) => done(signal ?? code)));
    this.orphan = () => child.kill("SIGKILL");
    process.once("exit", this.orphan);
    child.stderr.on("data", (text) => (this.stderr += text));
    this.address = this.readAddress();
  }

  /** Waits until the messages match a pattern, and returns the first group. */
  async said(pattern) {
    for (;;) {
      const found = pattern.exec(this.stderr);
      if (found) return found[1];
      const isOpen = await new Promise((done) => {
        this.child.stderr.once("data", () => done(true));
        this.child.stderr.once("end", () => done(false));
        if (this.child.stderr.readableEnded) done(false);
      });
      assert.ok(isOpen, `${pattern} was not said: ${this.stderr}`);
    }
  }

  async readAddress() {
    for await (const line of createInterface({ input: this.child.stdout })) {
      const address = /http:\/\/\S+/.exec(line)?.[0];
      if (!address) continue;
      this.url = new URL(address);
      return this.url;
    }
    throw new Error(`weir printed no address: ${this.stderr}`);
  }

  /** The server's own report of a session. */
  async report(session) {
    const response = await fetch(new URL(`/api/sessions/${session}/report`, this.url));
    assert.equal(response.status, 200);
    return response.json();
  }

  /** Ends it as a crash does. */
  async kill() {
    process.removeListener("exit", this.orphan);
    this.child.kill("SIGKILL");
    assert.equal(await this.ended, "SIGKILL");
  }

  /** Stops it as Ctrl-C does, and asserts that it stops. */
  async end() {
    process.removeListener("exit", this.orphan);
    this.child.kill("SIGTERM");
    const late = setTimeout(this.orphan, END_MS);
    const how = await this.ended;
    clearTimeout(late);
    assert.notEqual(how, "SIGKILL", `weir did not end within ${END_MS} ms of SIGTERM`);
    assert.ok(!/panicked/.test(this.stderr), this.stderr);
  }
}
