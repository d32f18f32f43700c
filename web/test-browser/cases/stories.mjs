// Stories of users and networks, beside those of clients.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { findings } from "../support/axe.mjs";
import { openList } from "../support/lists.mjs";
import { byId, chips, choose, numbers, settled, storyEnds, until } from "../support/page.mjs";
import { report } from "../support/weir.mjs";

const USERS = ["maria", "o'neil", "-"];

async function open({ page, server, folder }) {
  const log = `${folder}/users.log`;
  const lines = Array.from({ length: 60 }, (_, at) => {
    const time = `02/Nov/2026:03:${String(at % 60).padStart(2, "0")}:00 +0000`;
    const client = `192.0.2.${at % 4}`;
    return `${client} - ${USERS[at % 3]} [${time}] "GET /${at % 5} HTTP/1.1" 200 7 "-" "Agent"`;
  });
  await writeFile(log, `${lines.join("\n")}\n`);
  await page.goto(server.url);
  await choose(page, log);
  await settled(page);
  return log;
}

/** Waits until the story of a value is told with this number of requests. */
const told = (page, value, count) =>
  until(
    page,
    (value, count) =>
      document.querySelector('[data-testid="story"]')?.dataset.value === value &&
      document.querySelector('[data-testid="story-totals"]')?.dataset.requests === count,
    value,
    String(count),
  );

/** Presses the story button of the row of a value. */
const pressStory = (page, field, value) =>
  page.$$eval(
    `${byId(`top-${field}`)} .top-item`,
    (items, value) => {
      const item = items.find((one) => one.querySelector(".top-row")?.dataset.value === value);
      item.querySelector('[data-testid="story-open"]').click();
    },
    value,
  );

export function stories(define) {
  define("a user has a story, which is shared and filtered by", async (world) => {
    const { page } = world;
    const log = await open(world);
    await openList(page, "user");
    const { matching } = await report("--where", `user="o'neil"`, log);
    await pressStory(page, "user", "o'neil");
    await told(page, "o'neil", matching);
    assert.deepEqual(await findings(page), []);
    assert.ok(page.url().includes("of=user"), page.url());
    await page.reload();
    await told(page, "o'neil", matching);
    // Its clients are listed, because they are several.
    const clients = await page.$$eval(`${byId("story-client")} li`, (rows) => rows.length);
    assert.equal(clients, 4);
    await page.click(byId("story-filter"));
    await chips(page, 1);
    assert.equal((await numbers(page)).requests, matching);
  });

  define("a network has a story by its row, and by the key", async (world) => {
    const { page } = world;
    const log = await open(world);
    await openList(page, "network");
    const { matching } = await report("--where", "client=192.0.2.0/24", log);
    await page.focus(`${byId("top-network")} ${byId("top-row")}`);
    await page.keyboard.press("s");
    await told(page, "192.0.2.0/24", matching);
    await page.keyboard.press("Escape");
    await storyEnds(page);
    const back = await page.evaluate(() => document.activeElement?.dataset.value);
    assert.equal(back, "192.0.2.0/24", "the focus is back on the row");
  });

  define("the rows of a list are walked and excluded by keys", async (world) => {
    const { page } = world;
    const log = await open(world);
    const { group } = await report("--group", "path", log);
    const focused = () => page.evaluate(() => document.activeElement?.dataset.value);
    await page.focus(`${byId("top-path")} ${byId("top-row")}`);
    await page.keyboard.press("ArrowDown");
    assert.equal(await focused(), group.rows[1].value);
    await page.keyboard.press("End");
    assert.equal(await focused(), group.rows.at(-1).value);
    await page.keyboard.press("ArrowDown");
    assert.equal(await focused(), group.rows.at(-1).value, "it stays at the end");
    await page.keyboard.press("Home");
    await page.keyboard.press("x");
    await chips(page, 1);
    const without = await report("--where", `path!="${group.rows[0].value}"`, log);
    assert.equal((await numbers(page)).requests, without.matching);
  });
}
