import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
import { expect, test } from "vitest";

/** The limits of the scripts of the page, in bytes as brotli compresses them. */
const FIRST_MAX = 50_000;
const ALL_MAX = 104_000;

/** The script of `weir bench upload`, which the page does not load. */
const BENCH = "bench.js";

const DIST = new URL("../dist/", import.meta.url);
const ASSETS = new URL("assets/", DIST);

const textOf = (name: string) => readFileSync(new URL(name, ASSETS), "utf8");

/** The scripts that a script imports at once. */
const importsOf = (name: string) =>
  [...textOf(name).matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)].map(([, found]) => found!);

/** The scripts that the page needs before it shows anything. */
function firstScripts(): Set<string> {
  const page = readFileSync(new URL("index.html", DIST), "utf8");
  const waiting = [...page.matchAll(/"\/assets\/([\w-]+\.js)"/g)].map(([, name]) => name!);
  const found = new Set<string>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    waiting.push(...importsOf(name));
  }
  return found;
}

const sizeOf = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + brotliCompressSync(textOf(name)).length, 0);

test("the scripts of the first screen are small, and so are all of them", () => {
  const first = firstScripts();
  expect([...first].sort()).toContain("app.js");
  expect(first).toContain("page.js");
  const all = readdirSync(ASSETS).filter((name) => name.endsWith(".js") && name !== BENCH);
  expect(all.length).toBeGreaterThan(first.size);
  expect(sizeOf(first)).toBeLessThan(FIRST_MAX);
  expect(sizeOf(all)).toBeLessThan(ALL_MAX);
});

test("the server has every file of the build", () => {
  const served = readFileSync(new URL("../../crates/server/src/page.rs", import.meta.url), "utf8");
  for (const name of readdirSync(ASSETS)) expect(served).toContain(`${name}"`);
});
