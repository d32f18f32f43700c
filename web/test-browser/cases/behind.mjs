// The page behind a proxy that does not pass on WebSockets, as nginx without its lines for them.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { findings } from "../support/axe.mjs";
import { byId, choose, settled, until } from "../support/page.mjs";
import { fixture } from "../support/weir.mjs";

const LOG = fixture("apache-combined/elastic-first-2000.log");
const README = new URL("../../../README.md", import.meta.url);
const shows = (part) =>
  document.querySelector('[data-testid="banner"]')?.textContent.includes(part);

export function behind(define) {
  define(
    "the page says that a proxy blocks WebSockets, with the lines that nginx needs",
    async ({ page, server }) => {
      const proxy = await PlainProxy.start(server.url);
      try {
        await page.goto(proxy.url);
        await choose(page, LOG);
        await until(page, shows, "no WebSocket to it opens");
        const lines = await page.$eval(`${byId("banner")} pre`, (it) => it.textContent);
        assert.equal(lines.split("\n").length, 6);
        const readme = (await readFile(README, "utf8")).replace(/^ +/gm, "");
        assert.ok(readme.includes(lines), "README.md has the same lines");
        for (const theme of ["light", "dark"]) {
          await page.evaluate((it) => (document.documentElement.dataset.theme = it), theme);
          assert.deepEqual(await findings(page), [], theme);
        }
        for (const width of [1280, 390]) {
          await page.setViewport({ width, height: 900 });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${wide} px too wide at ${width} px`);
        }
        // The proxy is mended: the page goes on by itself.
        proxy.passWebSockets();
        await settled(page);
        assert.equal(await page.$(byId("banner")), null);
      } finally {
        await proxy.end();
      }
    },
    { allowed: [/WebSocket connection to/, /^request: http:\/\/127\.0\.0\.1:\d+\//] },
  );
}

/** A proxy that passes on requests as HTTP/1.0 proxies do: without `Upgrade`. */
class PlainProxy {
  static async start(target) {
    const proxy = new PlainProxy();
    proxy.listener = createServer((asked, answer) => proxy.#pass(target, asked, answer));
    proxy.target = target;
    proxy.listener.listen(0, "127.0.0.1");
    await once(proxy.listener, "listening");
    const { port } = proxy.listener.address();
    proxy.url = `http://127.0.0.1:${port}/`;
    return proxy;
  }

  /** Without this, a request for an upgrade is one like the others. */
  passWebSockets() {
    this.listener.on("upgrade", (asked, socket, head) =>
      this.#tunnel(this.target, asked, socket, head),
    );
  }

  #ask(target, asked, headers) {
    const { method, url: path } = asked;
    return request({ host: target.hostname, port: target.port, method, path, headers });
  }

  #pass(target, asked, answer) {
    const { upgrade: _, ...headers } = asked.headers;
    const passed = this.#ask(target, asked, { ...headers, connection: "close" });
    passed.on("response", (own) => {
      answer.writeHead(own.statusCode, own.headers);
      own.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    asked.pipe(passed);
  }

  #tunnel(target, asked, socket, head) {
    const passed = this.#ask(target, asked, asked.headers);
    passed.on("upgrade", (own, other, rest) => {
      const fields = Object.entries(own.headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields.join("")}\r\n`);
      socket.write(rest);
      other.write(head);
      for (const [one, to] of [
        [socket, other],
        [other, socket],
      ]) {
        one.pipe(to);
        one.on("error", () => to.destroy());
        one.on("close", () => to.destroy());
      }
    });
    passed.on("error", () => socket.destroy());
    passed.end();
  }

  async end() {
    this.listener.closeAllConnections();
    this.listener.close();
  }
}
