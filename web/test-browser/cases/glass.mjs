// One request with its steps, on the page `/glass` of the admin address.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { findings } from "../support/axe.mjs";
import { until } from "../support/page.mjs";
import { Server } from "../support/weir.mjs";

/** How long the backend takes, which the page has to show. */
const SLOW_MS = 150;
const SECRET = "qZ7secret";
/** Browsers log the answers 400 and 404, which are expected; the admin address is another origin. */
const ALLOWED = { allowed: [/40[04]/, /^request: http:\/\/127\.0\.0\.1:\d+\//] };

export function glass(define) {
  define(
    "the next request that meets a condition is shown with its steps",
    async (world) => {
      const { page } = world;
      await withGateway(world, async ({ admin, port }) => {
        await page.goto(new URL("/glass", admin));
        await page.waitForSelector("#start");
        await page.type("#condition", "status==503");
        await page.keyboard.press("Enter");
        await until(page, says, "`==` is not an operator");
        assert.match(await message(page), /\^\^/, "a mark below what is wrong");
        await page.$eval("#condition", (input) => input.select());
        await page.type("#condition", "status=503 and path^=/slow");
        await page.keyboard.press("Enter");
        await until(page, says, "waiting");
        // The page says so before its own request has reached the gateway.
        do {
          await get(port, "/other");
          await get(port, "/slow/<b>bold</b>?token=qZ7secret&x=1");
        } while (!(await page.$("#found")));
        assert.equal(await text(page, "#name"), "GET /slow/%3Cb%3Ebold%3C/b%3E");
        const names = await page.$$eval("#rows tr td:first-child", (cells) =>
          cells.map((cell) => cell.firstChild.textContent),
        );
        for (const name of [
          "client connection",
          "route",
          "request sent",
          "answer head",
          "last byte",
        ]) {
          assert.ok(names.includes(name), `${name} in ${names}`);
        }
        const waited = await page.$$eval(
          "#rows tr",
          (rows) =>
            rows.find((row) => row.textContent.startsWith("answer head")).cells[2].textContent,
        );
        assert.match(waited, /^\d+\.\d{3} (ms|s)$/);
        // A timer of Node may end a millisecond early.
        assert.ok(Number.parseFloat(waited) >= SLOW_MS - 2 || waited.endsWith(" s"), waited);
        const heads = await text(page, "#heads");
        assert.match(heads, /client to gateway/);
        assert.match(heads, /server: <img src=x onerror=alert\(1\)>/);
        assert.doesNotMatch(await text(page, "body"), new RegExp(SECRET));
        assert.equal(await page.$("#heads img"), null, "names are text");
        await readable(page);
      });
    },
    ALLOWED,
  );

  define(
    "waiting for a request can be stopped, and ends with a sentence",
    async (world) => {
      const { page } = world;
      await withGateway(world, async ({ admin }) => {
        await page.goto(new URL("/glass", admin));
        await page.waitForSelector("#start");
        await page.select("#kind", "feed");
        assert.equal(await page.$("#condition-field"), null, "none on feeds");
        await page.click("#start");
        await until(page, says, "this program has no feeds");
        await page.select("#kind", "request");
        await page.$eval("#seconds", (input) => (input.value = "1"));
        await page.click("#start");
        await until(page, says, "no requests of a gateway within 1 s");
        await page.$eval("#seconds", (input) => (input.value = "60"));
        await page.click("#start");
        await page.waitForSelector("#stop");
        // The button has the focus.
        await page.keyboard.press("Enter");
        await until(page, says, "stopped");
        assert.equal(await page.$("#found"), null);
      });
    },
    ALLOWED,
  );
}

/** No finding of axe-core in both themes, and nothing wider than the window. */
async function readable(page) {
  for (const theme of ["light", "dark"]) {
    await page
      .emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }])
      .catch(() => {});
    assert.deepEqual(await findings(page), [], theme);
  }
  for (const width of [1280, 768, 390]) {
    await page.setViewport({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${wide} px too wide at ${width} px`);
  }
}

const says = (part) => document.querySelector("#message")?.textContent.includes(part);
const message = (page) => text(page, "#message");
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);

/** Calls a function with a gateway before a slow backend. It ends with the world. */
async function withGateway(world, use) {
  const backend = createServer((asked, response) => {
    response.statusCode = 503;
    response.setHeader("Set-Cookie", `session=${SECRET}`);
    response.setHeader("Server", "<img src=x onerror=alert(1)>");
    setTimeout(() => response.end("busy"), asked.url.startsWith("/slow") ? SLOW_MS : 0);
  });
  await new Promise((done) => backend.listen(0, "127.0.0.1", done));
  const config = `listen = ["127.0.0.1:0"]
[backends.one]
instances = ["http://127.0.0.1:${backend.address().port}"]
[[routes]]
path = "/"
backend = "one"
`;
  await writeFile(world.path("gateway.toml"), config);
  await world.server.end();
  const args = ["--admin", "127.0.0.1:0", world.path("gateway.toml")];
  world.server = await Server.start(args, ["gateway"]);
  try {
    const port = await world.server.said(/answering at tcp:\/\/127\.0\.0\.1:(\d+)/);
    const admin = await world.server.said(/look inside at (http:\S+)/);
    await use({ admin, port });
  } finally {
    backend.close();
    backend.closeAllConnections();
  }
}

function get(port, path) {
  const headers = { Cookie: `session=${SECRET}`, "X-Api-Key": SECRET };
  return new Promise((done, fail) => {
    const asked = request({ host: "127.0.0.1", port, path: encodeURI(path), headers }, (answer) => {
      answer.resume();
      answer.on("end", done);
    });
    asked.on("error", fail);
    asked.end();
  });
}
