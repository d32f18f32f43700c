// The page of the log: messages, their filter, hostile text, none and too many.

import assert from "node:assert/strict";
import { answer, fits, look, readable } from "../support/admin.mjs";
import { until } from "../support/page.mjs";

const HOSTILE = "<img src=x onerror=alert(1)>\u202e\u001b[31m";
/** What the page keeps. */
const EVENTS_MAX = 1000;

export function logging(define) {
  define(
    "the filter of the log is changed by the keyboard, and a wrong one says what is wrong",
    async (world) => {
      const { page } = world;
      await look(world);
      await page.goto(new URL("/log", world.server.url));
      await page.waitForSelector("#pages a[aria-current='page']");
      await until(page, hasFilter);
      await filter(page, "info,nothing here=worst");
      await until(page, isBad);
      assert.notEqual(await text(page, "#message"), "");
      await filter(page, "debug");
      await until(page, says, "The filter is now debug");
      await until(page, has, "now=debug");
      assert.equal(await page.$("#none"), null);
      await readable(page);
      await fits(page);
    },
    { allowed: [/400/] },
  );

  define("hostile and long messages are text that fits the window", async (world) => {
    const { page } = world;
    await look(world);
    const event = (number) => ({
      number,
      time: "2026-11-24T03:07:00.000000Z",
      level: ["error", "warn", "info", "debug"][number % 4],
      target: `weir::${"a".repeat(number % 200)}`,
      message: `${HOSTILE} ${number} ${"longword".repeat(number % 50)}`,
      fields: { path: HOSTILE, peer: "x".repeat(300) },
    });
    const events = Array.from({ length: 3 * EVENTS_MAX }, (_, number) => event(number));
    const log = { filter: "info", level_max: "trace", next: events.length, events };
    await answer(page, "/log.json", log);
    await page.goto(new URL("/log", world.server.url));
    await until(page, has, `${3 * EVENTS_MAX - 1}`);
    const shown = await page.$$eval("#events > li", (items) => items.length);
    assert.equal(shown, EVENTS_MAX, "the newest ones");
    assert.equal(await page.$("#events img"), null);
    const first = await text(page, "#events > li:first-child");
    assert.match(first, /<img src=x onerror=alert\(1\)>\\u202e\\x1b\[31m/);
    await fits(page);
  });

  define("a log without a message says so", async (world) => {
    const { page } = world;
    await look(world);
    const log = { filter: "off", level_max: "debug", next: 0, events: [] };
    await answer(page, "/log.json", log);
    await page.goto(new URL("/log", world.server.url));
    await until(page, () => document.querySelector("#level")?.textContent);
    assert.equal(await text(page, "#none"), "No message so far.");
    assert.match(await text(page, "#level"), /no messages below debug/);
    await readable(page);
    await fits(page);
  });
}

/** Writes a filter and applies it, by the keyboard alone. */
async function filter(page, wanted) {
  await page.focus("#filter");
  await page.$eval("#filter", (input) => input.select());
  await page.keyboard.type(wanted);
  await page.keyboard.press("Enter");
}

const hasFilter = () => (document.querySelector("#filter")?.value ?? "") !== "";
const isBad = () => document.querySelector("#message").classList.contains("bad");
const says = (part) => document.querySelector("#message").textContent.includes(part);
const has = (part) => document.querySelector("#events")?.textContent.includes(part) ?? false;
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
