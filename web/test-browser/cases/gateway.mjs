// The page of a gateway: its records were never lines, and its caches have hit rates.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { byId, until } from "../support/page.mjs";
import { Server } from "../support/weir.mjs";

const SECRET = "a secret that only the browser tests use";
const REQUESTS = 120;

export function gateway(define) {
  define("a gateway has no lines, and a cache that never hits is red", async (world) => {
    const { page } = world;
    const backend = createServer((_, response) => response.end("hello"));
    await new Promise((done) => backend.listen(0, "127.0.0.1", done));
    await writeFile(world.path("secret"), SECRET);
    await writeFile(world.path("gateway.toml"), config(backend.address().port));
    // It ends with the world.
    await world.server.end();
    world.server = await Server.start([world.path("gateway.toml")], ["gateway"]);
    const { server } = world;
    try {
      const port = await server.said(/answering at tcp:\/\/127\.0\.0\.1:(\d+)/);
      await page.goto(server.url);
      // Each request has a token of its own, which no cache can know.
      for (let at = 0; at < REQUESTS; at += 1) await get(port, token(`user-${at}`));
      await until(page, shows, byId("progress-lines"), `${REQUESTS} requests`);
      await until(page, shows, byId("total-token_cache"), "0%");
      const text = await page.$eval("body", (body) => body.textContent);
      assert.match(text, new RegExp(`never hit in ${REQUESTS} requests`));
      assert.match(text, /Wait time, median/);
      assert.doesNotMatch(text, /\blines?\b/i);
      const classes = await page.$eval(byId("total-token_cache"), (value) => value.className);
      assert.match(classes, /\bbad\b/);
      assert.equal(await page.$(byId("lines-open")), null);
      await (await page.$(byId("save-open"))).click();
      await page.waitForSelector(byId("save-menu"));
      assert.equal(await page.$(byId("save-lines")), null);
      // Once the same token comes again and again, the cache is of use.
      const known = token("user");
      for (let at = 0; at < REQUESTS; at += 1) await get(port, known);
      await until(page, shows, byId("total-token_cache"), "49.6%");
    } finally {
      backend.close();
    }
  });
}

function shows(selector, text) {
  return document.querySelector(selector)?.textContent?.includes(text) ?? false;
}

function config(port) {
  return `listen = ["127.0.0.1:0"]
[issuers.app]
issuer = "https://login.example"
audience = "api"
algorithms = ["HS256"]
secret_file = "secret"
[backends.one]
instances = ["http://127.0.0.1:${port}"]
[[routes]]
path = "/"
issuer = "app"
backend = "one"
`;
}

function token(subject) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + 300;
  const claims = { iss: "https://login.example", aud: "api", sub: subject, exp };
  const signed = `${encode({ alg: "HS256" })}.${encode(claims)}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

function get(port, bearer) {
  return new Promise((done, fail) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const sent = request(
      { host: "127.0.0.1", port, path: "/", headers, agent: false },
      (answer) => {
        answer.resume();
        answer.on("end", () => {
          assert.equal(answer.statusCode, 200);
          done();
        });
      },
    );
    sent.on("error", fail);
    sent.end();
  });
}
