// The pages of the admin address: live numbers, the keyboard, hostile names, both themes.

import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { answer, fits, look, readable } from "../support/admin.mjs";
import { byId, openSources, until } from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const HOSTILE = "<img src=x onerror=alert(1)>.log";

export function inside(define) {
  define("the page of the route has live numbers and hostile names as text", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await page.goto(world.server.url);
    await until(page, showsText, "#route", HOSTILE);
    await until(page, showsText, "#route", "2,000");
    assert.equal(await page.$("#route img"), null);
    await readable(page);
    await fits(page);
  });

  define("the numbers of the route are at its edges and stages", async (world) => {
    const { page } = world;
    await look(world, LOG);
    await answer(page, "/route.json", ROUTE);
    await page.goto(world.server.url);
    await until(page, showsText, "#slowest", "wait for the backend");
    assert.deepEqual(await texts(page, ".lane h3"), [
      ...["Clients", "Gateway", "Backends"],
      ...["Sources", "Read", "Queue", "Parse", "Data"],
    ]);
    const [requests, records] = await page.$$(".lane");
    assert.deepEqual(await texts(requests, ".edge span"), [
      ...["1,500 requests/s", "6.00 MB/s"],
      ...["1,200 requests/s", "3.00 MB/s"],
    ]);
    assert.deepEqual(await texts(records, ".edge span"), [
      ...["300 kB/s", "1,500 records/s"],
      "300 kB/s",
      "280 kB/s",
      "1,400 records/s",
    ]);
    assert.deepEqual(await texts(page, ".join p"), [
      "from the gateway, a record of each request: 1,500 records/s, 300 kB/s",
    ]);
    assert.deepEqual(await texts(page, ".stage.is-slowest .name"), [HOSTILE]);
    const slowest = await texts(page, ".stage.is-slowest dl > div");
    for (const fact of ["per request80.0 ms", "at a time96", "in flight97"]) {
      assert.ok(slowest.includes(fact), `${fact} in ${slowest}`);
    }
    assert.deepEqual(await texts(page, ".limits dd"), ["12 of 1,024"]);
    const idle = await texts(page, ".kind.is-idle");
    assert.deepEqual(idle, ["Readidlethreads2"], "an idle stage has no zeros");
    await readable(page);
    await fits(page);
  });

  define("a backend that fails is marked, and stands above the others", async (world) => {
    const { page } = world;
    await look(world, LOG);
    const none = { bytes: 0, records: 0, busy: 0 };
    const backend = (name, rates, more) => stage("backend", name, undefined, rates, more);
    const stages = [
      backend("idle", none, { failed: 0, servers: 1, servers_available: 1 }),
      backend(
        "busy",
        { bytes: 1e5, records: 40, busy: 0.1 },
        { failed: 0, shares: [{ route: "/shop", asked: 0.05, got: 0.0388 }] },
      ),
      backend("dead", none, {
        ...{ failed: 799, records: 799, is_failing: true },
        ...{ servers: 2, servers_available: 1 },
      }),
    ];
    const reason = "The backend dead fails.";
    await answer(page, "/route.json", { span: 1, slowest: { reason }, stages, limits: [] });
    await page.goto(world.server.url);
    await until(page, showsText, "#slowest.is-failing", reason);
    assert.deepEqual(await texts(page, "#kind-backend ~ ol .name"), ["dead", "busy", "idle"]);
    const dead = await texts(page, ".stage.is-failing .mark, .stage.is-failing dl > div");
    assert.deepEqual(dead, ["failing", "failed799", "servers1 of 2 up", "requests799"]);
    const facts = await texts(page, "#kind-backend ~ ol dl > div");
    assert.ok(facts.includes("share of /shop3.9%, asked 5%"), facts);
    await readable(page);
    await fits(page);
  });

  define(
    "the views of several data sets are apart, and sources show what they hold",
    async (world) => {
      const { page } = world;
      await look(world, LOG);
      const view = (name, number, bytes) =>
        stage("view", name, number, { bytes, records: 2, busy: 0, waiting: 0 }, { in_flight: 1 });
      const source = (name, number, held_bytes) =>
        stage("source", name, number, { bytes: 0, records: 0, waiting: 0 }, { held_bytes });
      const stages = [
        ...[source("a.log", "0-0", 0), source("b.log", "3-0", 2e6)],
        stage("data", "", undefined, { records: 0 }),
        ...[view("data set 0", "0", 1e5), view("data set 3", "3", 2e5)],
        view("other data sets", undefined, 0),
      ];
      await answer(page, "/route.json", {
        span: 1,
        slowest: { reason: "Nothing flows." },
        stages,
        limits: [],
      });
      await page.goto(world.server.url);
      await until(page, showsText, "#route", "other data sets");
      const [sources, , views] = await page.$$(".kind");
      assert.deepEqual(await texts(views, ".name"), [
        "data set 0",
        "data set 3",
        "other data sets",
      ]);
      const facts = await texts(views, ".stage:nth-child(2) dl > div");
      assert.ok(facts.includes("bytes/s200 kB"), facts);
      assert.deepEqual(await texts(page, ".edge:nth-last-child(2) span"), ["300 kB/s"]);
      // Idle ones stand below.
      const [full, idle] = await texts(sources, ".stage");
      assert.equal(idle, "a.logidle");
      assert.ok(full.endsWith("held2.00 MB"), full);
      await readable(page);
      await fits(page);
    },
  );

  define("the arrows of the route have the minute that the page has seen", async (world) => {
    const { page } = world;
    await look(world, LOG);
    await answer(page, "/route.json", ROUTE);
    await page.goto(world.server.url);
    await until(page, pointsOf, ".edge .forth polyline", 3);
    const titles = await texts(page, ".minute-title");
    assert.deepEqual(titles.slice(0, 3), [
      "Requests of clients",
      "Responses to clients",
      "Requests to backends",
    ]);
    const [first] = await texts(page, ".minute-chart figcaption");
    assert.equal(first, "Requests of clients1,500 requests/sat most 1,500 requests/s");
    // Another page keeps what this one has collected.
    await page.click("#pages a[href='/tasks']");
    await until(page, showsText, "#tasks tbody", "connection");
    assert.equal(await page.title(), "Tasks · Weir");
    await page.goBack();
    await until(page, pointsOf, ".edge .forth polyline", 4);
    assert.equal(await page.title(), "Inside Weir");
    await readable(page);
    await fits(page);
  });

  define(
    "the page of the traffic and the route lead to each other",
    async (world) => {
      const { page } = world;
      await look(world, LOG);
      await page.goto(world.server.url);
      await page.click(byId("traffic-link"));
      await until(page, () => document.documentElement.dataset.complete === "true");
      await openSources(page);
      await page.click(byId("admin-link"));
      await until(page, showsText, "#route", "2,000");
    },
    { allowed: [/^request: http:\/\/127\.0\.0\.1:\d+\//] },
  );

  define("the theme is that of the person, on every page", async (world) => {
    const { page } = world;
    await look(world, LOG);
    await page.goto(world.server.url);
    await page.click(byId("theme-toggle"));
    const theme = () => document.documentElement.dataset.theme ?? "";
    const chosen = await page.evaluate(theme);
    assert.notEqual(chosen, "");
    await page.goto(new URL("/log", world.server.url));
    await page.waitForSelector("#filter");
    assert.equal(await page.evaluate(theme), chosen);
  });

  define("the flame graph is walked and zoomed by keys", async (world) => {
    const { page } = world;
    await look(world, LOG);
    await answer(page, "/profile/folded", FOLDED, PROFILE);
    await page.goto(new URL("/profile", world.server.url));
    await page.click("#start");
    await page.waitForSelector("#flame [data-node]");
    await page.focus("#flame [tabindex='0']");
    for (const [key, told] of [
      ["ArrowDown", /^b: 62\.5% \(50\.0 ms\), own 0\.00%/],
      ["ArrowRight", /^a: 37\.5%/],
      ["Enter", /^a: 37\.5%/],
      ["Escape", /^all threads: 100\.0%/],
    ]) {
      await page.keyboard.press(key);
      await until(
        page,
        (pattern) => new RegExp(pattern).test(document.querySelector("#detail").textContent),
        told.source,
      );
    }
    await page.type("#find", "split");
    await until(page, () => document.querySelectorAll("#flame .found").length === 1);
    assert.deepEqual(await rows(page), ["50.0%split"]);
    await readable(page);
  });

  define("a program without a route says so", async (world) => {
    const { page } = world;
    await look(world, LOG);
    await answer(page, "/route.json", { stages: [], slowest: { reason: "Nothing." }, limits: [] });
    await page.goto(world.server.url);
    await until(page, showsText, "#slowest", "This program has no route");
    await readable(page);
  });

  define("the page of tasks is live, and sorted and opened by the keyboard", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await page.goto(new URL("/tasks", world.server.url));
    await until(page, showsText, "#tasks tbody", "connection");
    await until(page, showsText, "#threads tbody", "weir-parse-0");
    // Rates need two answers.
    await until(page, showsText, "#tasks tbody", "%");
    await page.focus("#tasks th[data-key='age'] button");
    for (const order of ["descending", "ascending"]) {
      await page.keyboard.press("Enter");
      await until(page, isSorted, "age", order);
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Age");
    }
    await readable(page);
    await page.focus("#threads tbody button");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#detail[open] .minute-chart");
    await page.focus("#stack");
    // A thread of a busy machine may be late with its stack, and then a person asks again.
    do {
      await page.keyboard.press("Enter");
      await until(page, hasAnswer);
    } while (!(await page.evaluate(hasStack)));
    await readable(page);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#detail", { hidden: true });
    await page.type("#find", "no task has this name");
    await until(page, showsText, "#tasks tbody", "None.");
  });

  define("a narrow window has tasks as blocks, with titles and without zeros", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await page.goto(new URL("/tasks", world.server.url));
    await until(page, showsText, "#tasks tbody", "%");
    await fits(page);
    const { names, untitled, zeros } = await page.evaluate(() => {
      const cells = [...document.querySelectorAll("#threads tbody td")];
      const shown = cells.filter((cell) => cell.getClientRects().length > 0);
      const isName = (cell) => cell.cellIndex === 0;
      const hasTitle = (cell) =>
        cell.dataset.title !== "" && getComputedStyle(cell, "::before").content !== "none";
      const textOf = (cell) => cell.textContent;
      return {
        names: shown.filter(isName).length,
        untitled: shown.filter((cell) => !isName(cell) && !hasTitle(cell)).map(textOf),
        zeros: shown.map(textOf).filter((text) => /^(–|0( B|%)?)$/.test(text)),
      };
    });
    assert.ok(names > 2, `${names} names`);
    assert.deepEqual(untitled, []);
    assert.deepEqual(zeros, []);
    await readable(page);
  });

  define("a page without a result says what to do", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    for (const path of ["/profile", "/calls", "/glass"]) {
      await page.goto(new URL(path, world.server.url));
      await page.waitForSelector("#pages a[aria-current='page']");
      const hint = await page.$eval("#empty", (place) => place.textContent);
      assert.match(hint, /“.+”/, path);
      await readable(page);
      await fits(page);
    }
  });

  define("a profile is narrowed to a stage and to a thread", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    await answer(page, "/profile/folded", FOLDED, PROFILE);
    await page.goto(new URL("/profile", world.server.url));
    await page.click("#start");
    await page.waitForSelector("#found");
    assert.deepEqual(await texts(page, "#stage option"), ["all 2", "parse (75%)", "read (25%)"]);
    assert.deepEqual(await texts(page, "#thread option"), ["all 2", "b (63%)", "a (38%)"]);
    assert.deepEqual(await rows(page), ["50.0%split", "25.0%copy", "25.0%scan"]);
    await page.select("#stage", "parse");
    assert.deepEqual(await rows(page), ["66.7%split", "33.3%scan"]);
    await page.select("#thread", "a");
    assert.deepEqual(await rows(page), ["100.0%scan"]);
    assert.match(await page.$eval("#flame", (flame) => flame.textContent), /^amain/);
    await page.select("#stage", "");
    assert.deepEqual(await rows(page), ["66.7%scan", "33.3%copy"]);
    await readable(page);
    await fits(page);
  });

  define("only the largest functions of a profile are listed at first", async (world) => {
    const { page } = world;
    await lookAtFile(world);
    const functions = Array.from(
      { length: 80 },
      (_, index) => `parse;a;main;f${index} ${index + 1}`,
    );
    await answer(page, "/profile/folded", functions.join("\n"), PROFILE);
    await page.goto(new URL("/profile", world.server.url));
    await page.click("#start");
    await page.waitForSelector("#found");
    assert.equal((await rows(page)).length, 50);
    assert.deepEqual(await texts(page, "#more"), ["31 more functions are not listed."]);
    await page.click("#all");
    assert.equal((await rows(page)).length, 80);
    assert.equal(await page.$("#all"), null);
  });
}

/** What `GET /route.json` of a gateway may answer. */
const ROUTE = {
  span: 1,
  slowest: { stage: 2, reason: "Requests wait for the backend." },
  limits: [{ limit: "files", used: 12, used_max: 1024 }],
  stages: [
    stage(
      "client",
      "one",
      1,
      { bytes: 6e6, records: 1500, busy: 0.3, waiting: 95 },
      { in_flight: 1 },
    ),
    stage("gateway", "one", 1, { records: 1500, busy: 0.02 }, { in_flight: 0 }),
    stage("backend", HOSTILE, 1, { bytes: 2e6, records: 1200, busy: 96 }, { in_flight: 97 }),
    stage("backend", "two", 2, { bytes: 1e6, records: 0, busy: 0 }, { in_flight: 0 }),
    stage("source", "gateway", 1, { bytes: 3e5, records: 1500, waiting: 0 }),
    stage("read", "", 1, { busy: 0, waiting: 0 }, { threads: 2 }),
    stage("queue", "", 1, {}, { held_bytes: 100, held_bytes_max: 1000 }),
    stage("parse", "", 1, { bytes: 2.8e5, records: 1400, busy: 1.5, waiting: 0.1 }, { threads: 2 }),
    stage(
      "data",
      "",
      1,
      { records: 1400 },
      { records: 9000, held_bytes: 500, held_bytes_max: 1000 },
    ),
  ],
};

/** Stacks with their stage and thread, and their samples. */
const FOLDED = [
  "parse;a;main;scan 2",
  "read;a;main;copy 1",
  "read;b;main;copy 1",
  "parse;b;main;split 4",
].join("\n");

/** The metadata of that profile. */
const PROFILE = {
  "profile-id": "1",
  "profile-total": "80000000",
  "profile-unit": "nanoseconds",
  "profile-lost": "0",
};

function stage(kind, name, number, rates, more) {
  return { stage: kind, name, number, rates, ...more };
}

/** The texts of elements, within a page or an element. */
function texts(within, selector) {
  return within.$$eval(selector, (found) => found.map((it) => it.textContent));
}

/** The own shares and the names of the listed functions. */
function rows(page) {
  return page.$$eval("#functions tbody tr", (found) =>
    found
      .map((row) => row.cells[0].textContent + row.cells[2].textContent)
      .filter((it) => !it.startsWith("0.00")),
  );
}

/** Opens the admin address of a server with a hostile name of a file. */
async function lookAtFile(world) {
  const log = world.path(HOSTILE);
  await copyFile(LOG, log);
  await look(world, log);
}

/** Whether a line of a chart has at least this many points. */
function pointsOf(selector, count) {
  const line = document.querySelector(selector)?.getAttribute("points") ?? "";
  return line.split(" ").length >= count;
}

function showsText(selector, text) {
  return document.querySelector(selector)?.textContent?.includes(text) ?? false;
}

function hasAnswer() {
  return /::|There is no|is empty/.test(document.getElementById("stack-text")?.textContent ?? "");
}

function hasStack() {
  const text = document.getElementById("stack-text")?.textContent ?? "";
  return text.includes("::") && !text.startsWith("There is no stack");
}

/** Whether the head of this column states an order, and the tasks are in it. */
function isSorted(key, order) {
  const head = document.querySelector(`#tasks th[data-key='${key}']`);
  if (head.getAttribute("aria-sort") !== order) return false;
  const seconds = (text) => {
    const units = { µs: 1e-6, ms: 0.001, s: 1, min: 60, h: 3600 };
    const parts = [...text.matchAll(/([\d.]+) (\S+)/g)];
    return parts.reduce((sum, [, value, unit]) => sum + Number(value) * units[unit], 0);
  };
  const rows = [...document.querySelectorAll("#tasks tbody tr")];
  const ages = rows.map((row) => seconds(row.cells[head.cellIndex].textContent));
  const sign = order === "ascending" ? 1 : -1;
  return ages.length > 1 && ages.every((age, at) => at === 0 || sign * (age - ages[at - 1]) >= 0);
}
