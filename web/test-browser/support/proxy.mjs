// A TCP proxy that a test can cut, to break a connection.

import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Console messages of a browser about a connection that the test has cut. */
export const CUT = [
  /WebSocket/,
  /can.t establish a connection/,
  /ERR_(CONNECTION|EMPTY_RESPONSE|SOCKET)/,
  /was interrupted/,
  /Failed to load resource/,
  /NetworkError/,
  /NS_ERROR/,
];

export class ServerProxy {
  /** Bytes received from the page since the last `restore`. */
  received = 0;
  /** After this many bytes connections are cut and refused. */
  cutAt = Infinity;
  /** After this many bytes the proxy reads no more of uploads until `release` or `restore`. */
  holdAt = Infinity;
  isCut = false;
  cuts = 0;
  /** The upload connections, oldest first. */
  #uploads = [];
  #pairs = new Set();
  /** Those who wait, each with what has to hold. */
  #waits = [];

  /** Starts one in front of the server at `target`. */
  static async start(target) {
    const proxy = new ServerProxy();
    proxy.target = target;
    proxy.listener = createServer((page) => proxy.#accept(page));
    proxy.listener.listen(0, "127.0.0.1");
    await once(proxy.listener, "listening");
    const { port } = proxy.listener.address();
    proxy.url = new URL(`http://127.0.0.1:${port}/`);
    return proxy;
  }

  /** Waits until something holds, which changes with bytes from the page or with a cut. */
  until(holds) {
    return new Promise((done) => {
      this.#waits.push({ holds, done });
      this.#changed();
    });
  }

  #changed() {
    this.#waits = this.#waits.filter(({ holds, done }) => !holds() || done());
  }

  /** Breaks every connection and refuses new ones. */
  cut() {
    this.isCut = true;
    this.cuts += 1;
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
    this.#pairs.clear();
    this.#changed();
  }

  /** The number of upload connections. */
  get uploads() {
    return this.#uploads.filter((pair) => this.#pairs.has(pair)).length;
  }

  /** Breaks only the newest upload connection. */
  cutNewestUpload() {
    const pair = this.#uploads.findLast((one) => this.#pairs.has(one));
    this.#pairs.delete(pair);
    for (const socket of pair) socket.resetAndDestroy();
  }

  /** Accepts connections and bytes again, up to the next limit. */
  restore({ cutAt = Infinity } = {}) {
    Object.assign(this, { isCut: false, received: 0, cutAt });
    this.release(Infinity);
  }

  /** Reads more from the page, up to `holdAt`. */
  release(holdAt) {
    this.holdAt = holdAt;
    for (const [page] of this.#pairs) page.resume();
  }

  async end() {
    this.cut();
    this.listener.close();
    await once(this.listener, "close");
  }

  #accept(page) {
    page.on("error", () => {});
    if (this.isCut) return page.resetAndDestroy();
    const server = connect(Number(this.target.port), this.target.hostname);
    const pair = [page, server];
    this.#pairs.add(pair);
    server.on("error", () => page.destroy());
    for (const socket of pair) socket.on("close", () => this.#pairs.delete(pair));
    page.on("close", () => server.destroy());
    server.on("close", () => page.end());
    server.pipe(page);
    const isUpload = () => this.#uploads.push(pair);
    const rewrite = rewriter(this.url.host, this.target.host, isUpload);
    page.on("data", (bytes) => this.#forward(rewrite(bytes), pair));
    server.on("drain", () => this.#isHeld(pair) || page.resume());
  }

  #isHeld(pair) {
    return this.received >= this.holdAt && this.#uploads.includes(pair);
  }

  #forward(bytes, pair) {
    const [page, server] = pair;
    this.received += bytes.length;
    this.#changed();
    if (this.received >= this.cutAt) return this.cut();
    const isFull = !server.write(bytes);
    if (isFull || this.#isHeld(pair)) page.pause();
  }
}

/**
 * Replaces the address in the heads of requests by that of the server, which accepts no other.
 * After an upgrade all bytes pass unchanged. The page sends only requests without a body.
 */
function rewriter(from, to, isUpload) {
  let head = Buffer.alloc(0);
  let isUpgraded = false;
  return (bytes) => {
    if (isUpgraded) return bytes;
    head = Buffer.concat([head, bytes]);
    const out = [];
    for (
      let end = head.indexOf("\r\n\r\n");
      end >= 0 && !isUpgraded;
      end = head.indexOf("\r\n\r\n")
    ) {
      const text = head.toString("latin1", 0, end + 4);
      out.push(Buffer.from(text.replaceAll(from, to), "latin1"));
      head = head.subarray(end + 4);
      if (/^GET \S+\/upload HTTP/.test(text)) isUpload();
      isUpgraded = /^upgrade: *websocket/im.test(text);
    }
    return Buffer.concat(isUpgraded ? [...out, head] : out);
  };
}
