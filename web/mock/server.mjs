// A stand-in for the real server, to look at the page: `npm run build && npm run mock`.
// Sessions /s/a0 ... show fixed situations; a dropped file shows synthetic records, one for each
// 250 bytes. The messages are type-checked against the protocol in the modules beside this one.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import { addSession, sessions } from "./sessions.mjs";
import { live, upload } from "./sockets.mjs";

const PORT = Number(process.env.PORT ?? 8181);
const MESSAGE_BYTES_MAX = 64 << 20;
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'";
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};

const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  if (path === "/api/sessions" && request.method === "POST") {
    const body = JSON.stringify({ id: addSession() });
    return response.writeHead(201, { "content-type": "application/json" }).end(body);
  }
  const session = /^\/s\/(\w+)$/.exec(path)?.[1];
  if (request.method === "HEAD" && session) {
    return response.writeHead(sessions.has(session) ? 200 : 404).end();
  }
  const file = path === "/" || session ? "/index.html" : path;
  try {
    const body = await readFile(new URL(`../dist${file}`, import.meta.url));
    const type = TYPES[file.split(".").pop()];
    response.writeHead(200, { "content-type": type, "content-security-policy": CSP }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});

const sockets = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX });
server.on("upgrade", (request, socket, head) => {
  const [, id, kind] = /^\/api\/sessions\/([0-9a-f]+)\/(live|upload)$/.exec(request.url) ?? [];
  const session = sessions.get(id);
  if (!session) return socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
  sockets.handleUpgrade(request, socket, head, (open) =>
    kind === "live" ? live(open, session) : upload(open, session),
  );
});
server.listen(PORT, "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}/s/a0`));
