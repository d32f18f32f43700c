// Filters by pointer, by keyboard and by text, and Back.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings, isNotCovered } from "../support/axe.mjs";
import { grouped } from "../support/outputs.mjs";
import {
  altClick,
  atValue,
  byId,
  chips,
  choose,
  conditionsOf,
  drag,
  numbers,
  numbersOf,
  row,
  settled,
  shows,
  until,
} from "../support/page.mjs";
import { fixture, report } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");

async function opened({ page, server }) {
  await page.goto(server.url);
  await choose(page, LOG);
  await settled(page);
}

const asked = async (page, ...more) => report(LOG, ...conditionsOf(page), ...more);

export function filtering(define) {
  define("a drag over the chart zooms in, Escape goes back", async (world) => {
    const { page } = world;
    await opened(world);
    const whole = await numbers(page);
    await drag(page, 0.25, 0.6);
    await chips(page, 1);
    const once = await asked(page);
    assert.ok(once.matching > 0 && once.matching < whole.requests);
    await shows(page, once);
    await drag(page, 0.3, 0.7);
    await until(
      page,
      (before) =>
        Number(document.querySelector('[data-testid="total-requests"]').dataset.value) < before,
      once.matching,
    );
    await settled(page);
    await shows(page, await asked(page));
    await page.keyboard.press("Escape");
    await until(
      page,
      (before) =>
        Number(document.querySelector('[data-testid="total-requests"]').dataset.value) === before,
      once.matching,
    );
    await shows(page, once);
    await page.keyboard.press("Escape");
    await chips(page, 0);
    assert.deepEqual(await numbers(page), whole);
  });

  define("the axis stays that of the log, whatever the filter", async (world) => {
    const { page } = world;
    await opened(world);
    const { chart } = await numbers(page);
    assert.equal(await page.$(byId("backdrop")), null);
    await (await row(page, "status", "206")).click();
    await chips(page, 1);
    const filtered = await numbers(page);
    assert.equal(filtered.requests, 21);
    assert.deepEqual([filtered.chart.buckets, filtered.chart.step], [chart.buckets, chart.step]);
    assert.notEqual(await page.$(byId("backdrop")), null);
    await page.keyboard.press("Escape");
    await chips(page, 0);
  });

  define("arrows, Shift and Enter zoom in by keyboard", async (world) => {
    const { page } = world;
    await opened(world);
    await page.focus(byId("chart"));
    await page.keyboard.press("Home");
    for (let at = 0; at < 3; at += 1) await page.keyboard.press("ArrowRight");
    await page.keyboard.down("Shift");
    for (const key of ["PageDown", "PageDown", "ArrowRight", "ArrowLeft"])
      await page.keyboard.press(key);
    await page.keyboard.up("Shift");
    await page.waitForSelector(".chart-selection");
    await page.keyboard.press("Enter");
    await chips(page, 1);
    const zoomed = await asked(page);
    assert.ok(zoomed.matching > 0);
    await shows(page, zoomed);
    await page.keyboard.press("Escape");
    await chips(page, 0);
    await shows(page, await report(LOG));
  });

  define("a click includes, Alt-click excludes, chips and Back undo", async (world) => {
    const { page } = world;
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await shows(page, await asked(page));
    assert.deepEqual(conditionsOf(page), ["--where", "status=404"]);
    const [path] = await page.$$eval(`${byId("top-path")} ${byId("top-row")}`, (rows) =>
      rows.map((one) => one.dataset.value),
    );
    await altClick(page, await row(page, "path", path));
    await chips(page, 2);
    assert.deepEqual(conditionsOf(page), ["--where", "status=404", "--where", `path!=${path}`]);
    await shows(page, await asked(page));
    // Back undoes the last step, and Forward repeats it.
    await page.goBack();
    await chips(page, 1);
    await shows(page, await report(LOG, "--where", "status=404"));
    await page.goForward();
    await chips(page, 2);
    // The first chip goes, the second stays.
    await page.click(byId("chip-remove"));
    await chips(page, 1);
    assert.deepEqual(conditionsOf(page), ["--where", `path!=${path}`]);
    await shows(page, await asked(page));
    await page.click(byId("clear-filters"));
    await chips(page, 0);
    await shows(page, await report(LOG));
  });

  define("what a condition would select is counted while it is typed", async (world) => {
    const { page } = world;
    await opened(world);
    const all = await report(LOG);
    const counted = (text) =>
      until(
        page,
        (selector, text) => document.querySelector(selector)?.textContent === text,
        byId("typed-count"),
        text,
      );
    const of = ({ matching }) => `${grouped(matching)} of ${grouped(all.matching)} requests`;
    const typed = await report(LOG, "--where", "status=404");
    assert.ok(typed.matching > 0);
    await page.type(byId("filter-box"), "status=404");
    await counted(of(typed));
    assert.deepEqual(await numbers(page), numbersOf(all), "nothing is filtered yet");
    await page.type(byId("filter-box"), " or bytes>1MB");
    await counted(of(await report(LOG, "--where", "status=404 or bytes>1MB")));
    await page.type(byId("filter-box"), " and");
    await counted("");
    for (const _ of " or bytes>1MB and") await page.keyboard.press("Backspace");
    await counted(of(typed));
    await page.keyboard.press("Enter");
    await chips(page, 1);
    assert.equal(await page.$(byId("typed-count")), null);
    // The next one is joined with the filter.
    await page.type(byId("filter-box"), "method=GET");
    await counted(of(await asked(page, "--where", "method=GET")));
    await page.keyboard.press("Escape");
    assert.equal(await page.$(byId("typed-count")), null);
  });

  define("a condition is edited in the box, which replaces it", async (world) => {
    const { page } = world;
    await opened(world);
    await (await row(page, "status", "404")).click();
    await chips(page, 1);
    await (await row(page, "method", "GET")).click();
    await chips(page, 2);
    const before = await numbers(page);
    await page.click(byId("chip-edit"));
    const box = () => page.$eval(byId("filter-box"), (one) => one.value);
    assert.equal(await box(), "status=404");
    assert.deepEqual(await numbers(page), before, "nothing changes yet");
    await page.keyboard.press("Escape");
    assert.equal(await box(), "");
    await chips(page, 2);
    await page.click(byId("chip-edit"));
    // When the click ends, the text is there and selected, so that typing replaces it.
    const { isFocused, selected } = await page.$eval(byId("filter-box"), (one) => ({
      isFocused: document.activeElement === one,
      selected: one.value.slice(one.selectionStart, one.selectionEnd),
    }));
    assert.ok(isFocused);
    assert.equal(selected, "status=404");
    await page.keyboard.type("status=404,206");
    await page.keyboard.press("Enter");
    await until(page, () => location.search.includes("206"));
    await chips(page, 2);
    assert.equal(await box(), "");
    const where = ["--where", "status=404,206", "--where", "method=GET"];
    await shows(page, await report(LOG, ...where));
  });

  define("a value is copied by its button and by keyboard", async (world) => {
    const { page } = world;
    await opened(world);
    await page.evaluate(() => {
      document.addEventListener("copy", (event) => {
        window.copied = event.clipboardData.getData("text/plain") || event.target.value;
      });
      // Without a permission there is no clipboard; then the page copies a selection.
      Object.defineProperty(navigator, "clipboard", { value: undefined });
    });
    const first = await page.$(`${byId("top-path")} ${byId("top-row")}`);
    const value = await first.evaluate((one) => one.dataset.value);
    await first.hover();
    const copy = `${byId("top-path")} ${byId("top-copy")}`;
    await page.click(copy);
    await until(page, (wanted) => window.copied === wanted, value);
    await until(page, (copy) => document.querySelector(copy).innerText.includes("✓"), copy);
    assert.deepEqual(conditionsOf(page), [], "the row is not clicked");
    const second = (await page.$$(`${byId("top-path")} ${byId("top-row")}`))[1];
    await second.focus();
    await page.keyboard.down("Control");
    await page.keyboard.press("c");
    await page.keyboard.up("Control");
    const other = await second.evaluate((one) => one.dataset.value);
    await until(page, (wanted) => window.copied === wanted, other);
  });

  define("a note is dismissed, and the focus is not lost", async (world) => {
    const { page, server } = world;
    const lines = [
      ["+0100", 200],
      ["+0200", 404],
    ].map(
      ([offset, status]) =>
        `192.0.2.7 - - [26/Oct/2025:02:30:00 ${offset}] "GET / HTTP/1.1" ${status} 5 "-" "-"\n`,
    );
    const log = world.path("offsets.log");
    await writeFile(log, lines.join(""));
    await page.goto(server.url);
    await choose(page, log);
    await settled(page);
    const note = await page.waitForSelector(byId("note"));
    assert.match(await note.evaluate((one) => one.textContent), /different offsets/);
    await page.focus(byId("note-dismiss"));
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector('[data-testid="note"]') === null);
    await until(page, () => document.activeElement !== document.body);
    await (await row(page, "status", "200")).click();
    await chips(page, 1);
    assert.equal(await page.$(byId("note")), null, "it stays dismissed");
  });

  define("two values of a field are joined by or, a second click removes one", async (world) => {
    const { page } = world;
    await opened(world);
    for (const status of ["404", "301"]) {
      await (await row(page, "status", status)).click();
      await until(page, (wanted) => location.search.includes(wanted), status);
      await settled(page);
      if (status === "404") await page.click(byId("clear-filters"));
      if (status === "404") await chips(page, 0);
    }
    await shows(page, await report(LOG, "--where", "status=301"));
    await (await row(page, "status", "301")).click();
    await chips(page, 0);
    await shows(page, await report(LOG));
  });

  define("conditions are typed, and an error is shown at the box", async (world) => {
    const { page } = world;
    await opened(world);
    const type = async (text) => {
      await page.keyboard.press("/");
      await page.waitForSelector(`${byId("filter-box")}:focus`);
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
    };
    let count = 0;
    for (const text of [
      "client!=66.249.73.0/24",
      "bytes>1000",
      "path~\\.(png|css)$",
      "status<400",
    ]) {
      await type(text);
      count += 1;
      await chips(page, count);
      await page.evaluate(() => document.activeElement.blur());
    }
    const filtered = await report(
      LOG,
      ...["client!=66.249.73.0/24", "bytes>1000", "path~\\.(png|css)$", "status<400"].flatMap(
        (text) => ["--where", text],
      ),
    );
    assert.ok(filtered.matching > 0);
    await shows(page, filtered);
    await type("path~(");
    const refusal = await page.waitForSelector(byId("filter-refusal"));
    assert.match(await refusal.evaluate((one) => one.textContent), /unclosed group/);
    await chips(page, count);
    await shows(page, filtered);
    await page.keyboard.press("Escape");
    await page.keyboard.type("nothing=1");
    await page.keyboard.press("Enter");
    await until(page, () =>
      /has no field/.test(
        document.querySelector('[data-testid="filter-refusal"]')?.textContent ?? "",
      ),
    );
    await shows(page, filtered);
    await page.keyboard.press("Escape");
    await page.keyboard.type("path=/ and status==404");
    await page.keyboard.press("Enter");
    const mark = await page.waitForSelector(`${byId("filter-mark")} mark`);
    assert.equal(await mark.evaluate((one) => one.textContent), "==");
    const box = await page.$eval(byId("filter-box"), (one) => [
      one.selectionStart,
      one.selectionEnd,
    ]);
    assert.deepEqual(box, [17, 19]);
    // Who comes back to the box replaces all of it.
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    await page.keyboard.type("not (referer=(none) or method=POST)");
    await page.keyboard.press("Enter");
    await chips(page, count + 1);
    await shows(page, await report(LOG, ...conditionsOf(page)));
    await page.reload();
    await settled(page);
    await chips(page, count + 1);
  });

  define("the box completes fields and values, by keyboard and by pointer", async (world) => {
    const { page } = world;
    await opened(world);
    const listed = () =>
      page.$$eval(byId("completion"), (all) =>
        all.map((one) => [one.dataset.text, one.lastChild.textContent]),
      );
    const active = () =>
      page.$eval(byId("filter-box"), (box) => {
        const id = box.getAttribute("aria-activedescendant");
        return id === null ? null : document.getElementById(id).dataset.text;
      });
    const all = await report(LOG);
    await page.keyboard.press("/");
    assert.deepEqual(await listed(), [], "the list waits until something is typed");
    await page.keyboard.type("stat");
    const values = `${all.distinct.status} values`;
    assert.deepEqual(await listed(), [["status=", values]]);
    assert.equal(await page.$eval(byId("filter-box"), (box) => box.ariaExpanded), "true");
    assert.equal(await active(), null);
    await page.keyboard.press("ArrowDown");
    assert.equal(await active(), "status=");
    assert.deepEqual((await findings(page)).filter(isNotCovered), []);
    await page.keyboard.press("Enter");
    const counts = all.top.status.map((row) => [`status=${row.value}`, grouped(row.count)]);
    assert.deepEqual(await listed(), counts);
    assert.equal((await page.$$(byId("chip"))).length, 0, "a field alone is no filter");
    await page.keyboard.press("ArrowUp");
    assert.equal(await active(), counts.at(-1)[0], "the last one is before the first");
    await page.keyboard.press("ArrowDown");
    assert.equal(await active(), null, "then comes the text itself");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    assert.deepEqual(await listed(), []);
    const box = () => page.$eval(byId("filter-box"), (one) => one.value);
    assert.equal(await box(), "status=", "Escape closes the list first");
    await page.keyboard.type("40");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await chips(page, 1);
    assert.equal(await box(), "");
    assert.deepEqual(await listed(), []);
    await shows(page, await report(LOG, "--where", "status=404"));
    // By pointer, and within brackets, which are not closed yet.
    await page.keyboard.type("(method=");
    const first = await page.$(byId("completion"));
    const chosen = await first.evaluate((one) => one.dataset.text);
    await first.click();
    assert.equal(await box(), chosen);
    assert.ok(await page.$eval(byId("filter-box"), (one) => document.activeElement === one));
    await page.keyboard.type(")");
    await page.keyboard.press("Enter");
    await chips(page, 2);
  });

  define(
    "a value that is too long for the address filters, and one for the server is refused",
    async (world) => {
      const { page } = world;
      await opened(world);
      const lines = [20_000, 100_000].map(
        (length) =>
          `192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] "GET /${"x".repeat(length)} HTTP/1.1" 200 5 "-" "-"\n`,
      );
      const file = world.path("long.log");
      await writeFile(file, lines.join("") + lines[0]);
      await page.goto(world.server.url);
      await choose(page, file);
      await settled(page);
      const rows = await page.$$(`${byId("top-path")} ${byId("top-row")}`);
      assert.equal(rows.length, 2);
      await rows[0].click(atValue);
      await chips(page, 1);
      assert.equal(new URL(page.url()).search, "");
      await page.reload();
      await settled(page);
      await chips(page, 1);
      await page.click(byId("clear-filters"));
      await chips(page, 0);
      await (await page.$$(`${byId("top-path")} ${byId("top-row")}`))[1].click(atValue);
      const banner = await page.waitForSelector(byId("banner"));
      assert.match(
        await banner.evaluate((one) => one.textContent),
        /filter is too long: it has 100 kB/,
      );
      await chips(page, 0);
    },
  );

  define("times are shown in a chosen zone, which the address keeps", async (world) => {
    const { page } = world;
    await opened(world);
    await page.select(byId("zone"), "another");
    const name = await page.waitForSelector(byId("zone-name"));
    await name.type("Mars/Olympus");
    await page.keyboard.press("Enter");
    const refusal = await page.waitForSelector(byId("zone-refusal"));
    assert.match(await refusal.evaluate((one) => one.textContent), /not a known time zone/);
    await name.evaluate((input) => input.select());
    await page.keyboard.type("Asia/Kolkata");
    await page.keyboard.press("Enter");
    await until(page, () => location.search === "?tz=Asia%2FKolkata");
    await settled(page);
    await shows(page, await report(LOG, "--tz", "Asia/Kolkata"));
    await page.reload();
    await settled(page);
    await shows(page, await report(LOG, "--tz", "Asia/Kolkata"));
    assert.match(await page.$eval(".totals", (totals) => totals.textContent), /Asia\/Kolkata/);
    await page.select(byId("zone"), "");
    await until(page, () => location.search === "");
    await settled(page);
    await shows(page, await report(LOG));
  });

  define("bars are stacked by another field, more rows are listed", async (world) => {
    const { page } = world;
    await opened(world);
    await page.select(byId("stack"), "method");
    await until(page, () => location.search === "?by=method");
    await settled(page);
    const report_ = await report(LOG, "--stack", "method");
    const legend = await page.$$eval(".legend li", (all) => all.map((one) => one.textContent));
    const sums = report_.histogram.groups.map((group) =>
      report_.histogram.buckets.reduce((sum, bucket) => sum + (bucket.by[group] ?? 0), 0),
    );
    assert.deepEqual(
      legend,
      report_.histogram.groups.map((group, at) => `${group}${sums[at].toLocaleString("en-US")}`),
    );
    await page.click(`${byId("top-path")} .more button`);
    await until(page, () => location.search.includes("top=50"));
    await settled(page);
    await shows(page, await report(LOG, "--stack", "method", "--top", "50"));
  });
}
