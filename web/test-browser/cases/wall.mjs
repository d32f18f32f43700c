// The wall screen: figures, the chart and lists, and nothing to press.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { byId, choose, settled, until } from "../support/page.mjs";
import { CUT } from "../support/proxy.mjs";
import { fixture, report } from "../support/weir.mjs";

const FAILED = `192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /broken HTTP/1.1" 500 1 "-" "curl/8"\n`;

const LOG = fixture("apache-combined/elastic-first-2000.log");

export function wall(define) {
  define(
    "a wall screen shows the numbers of the terminal, and no control",
    async ({ page, server }) => {
      await page.setViewport({ width: 1280, height: 800 });
      await page.goto(server.url);
      await choose(page, LOG);
      await settled(page);
      await page.goto(`${page.url()}?wall`);
      await page.waitForSelector(byId("wall"));
      // The failing paths come with an answer of their own.
      await until(page, () => document.querySelectorAll(".wall-lists li").length >= 11);
      const whole = await report(LOG);
      const { group } = await report("--group", "path", "--sort", "errors", "--top", "5", LOG);
      const shown = await page.evaluate(() => ({
        figures: [...document.querySelectorAll(".wall-value")].map((one) => one.textContent),
        total: document.querySelector('[data-testid="chart"]').dataset.total,
        lists: [...document.querySelectorAll(".wall-lists section")].map((list) =>
          [...list.querySelectorAll("li b")].map((one) => one.textContent),
        ),
      }));
      const text = (number) => number.toLocaleString("en-US");
      const { client, path } = whole.top;
      assert.deepEqual(shown.figures.slice(0, 3), [
        text(whole.matching),
        text(whole.distinct.client),
        text(whole.errors),
      ]);
      assert.equal(shown.total, String(whole.matching));
      const counts = (rows) => rows.slice(0, 5).map(({ count }) => text(count));
      const failing = group.rows
        .filter(({ errors }) => errors > 0)
        .map(({ errors, count }) => `${text(errors)} of ${text(count)}`);
      assert.deepEqual(shown.lists, [counts(client), failing, counts(path)]);
      const controls = await page.$$eval("a, button, select, input, [tabindex]", (all) =>
        all
          .filter((one) => one.offsetWidth > 0 && one.closest("[inert]") === null)
          .map((one) => one.outerHTML),
      );
      assert.deepEqual(controls, []);
      assert.deepEqual(await findings(page), []);
      // A narrow window has the usual page.
      await page.setViewport({ width: 700, height: 800 });
      await settled(page);
      assert.equal(await page.$(byId("wall")), null);
    },
  );

  define(
    "a wall screen goes on after a lost connection",
    async (world) => {
      const { page, server } = world;
      const proxy = await world.startProxy();
      await page.goto(proxy.url);
      await choose(page, LOG);
      await settled(page);
      const { pathname } = new URL(page.url());
      await page.goto(`${page.url()}?wall`);
      const failing = () =>
        [...document.querySelectorAll(".wall-lists section")].at(1)?.textContent ?? "";
      await until(page, () => document.querySelectorAll(".wall-lists li").length >= 11);
      assert.doesNotMatch(await page.evaluate(failing), /\/broken/);
      proxy.cut();
      proxy.restore();
      const more = world.path("more.log");
      await writeFile(more, FAILED.repeat(50));
      const other = await world.newPage();
      await other.goto(new URL(pathname, server.url));
      await settled(other);
      await choose(other, more);
      await until(page, () => {
        const list = [...document.querySelectorAll(".wall-lists section")].at(1);
        return list?.textContent.includes("/broken") && list.textContent.includes("50 of 50");
      });
    },
    { allowed: CUT },
  );
}
