// A stand-in for the real server, to look at the page: `npm run build && npm run mock`.
// Sessions /s/a0 ... show fixed situations; a dropped file shows made-up records that
// grow with its bytes.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { WebSocketServer } from "ws";
import { report } from "./answer.mjs";
import { records } from "./data.mjs";

const PORT = Number(process.env.PORT ?? 8181);
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'";
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};
const WINDOW = 32 << 20;
const PUSH_MS = 50;
const FORMAT = { name: "COMBINED", definition: "" };

const normal = records(60_000);
const SAMPLES = [
  {
    source: "access.log",
    line: 812,
    column: 1,
    reason: "expected an address",
    text: "\u0016\u0003\u0001\u0002\u0000 binary rubbish",
  },
  {
    source: "access.log",
    line: 40321,
    column: 47,
    reason: "expected a quotation mark before the request",
    text: '198.51.100.7 - - [12/May/2024:10:00:00 +0200] GET / HTTP/1.1" 200 12 "-" "<b>curl</b>"',
  },
];

const source = (over) => ({
  file: "",
  name: "access.log",
  state: "done",
  bytes_done: 15e6,
  bytes_total: 15e6,
  lines: 60_002,
  records: 60_000,
  unmatched: 2,
  too_long: 0,
  format: FORMAT,
  fits: 1,
  message: null,
  ...over,
});

const sessions = new Map();
const session = (id, over) => {
  sessions.set(id, {
    records: normal,
    bad: 2,
    complete: true,
    sources: [source()],
    samples: SAMPLES,
    notes: [],
    patch: (one) => one,
    ...over,
  });
};
session("a0", {});
session("a2", {
  records: records(60_000, { hostile: true, hours: 400 }),
  sources: [
    source({ name: "<b>evil</b>\u202e.log" }),
    ...Array.from({ length: 9 }, (_, at) => source({ name: `access.log.${at + 1}.gz` })),
    source({
      name: "cut.gz",
      state: "failed",
      message: "The gzip data ends early, at byte 120,444. What was read before it stands.",
    }),
  ],
  notes: ["The log mixes the offsets +02:00 and +01:00; times are shown in +02:00."],
  patch: overflow,
});
session("a3", {
  records: [],
  bad: 1234,
  sources: [source({ name: "syslog", lines: 1234, records: 0, unmatched: 1234, fits: 0.03 })],
  samples: SAMPLES,
});
session("a4", {
  records: normal.slice(0, 40).map((one) => ({ ...one, time: normal[0].time })),
  bad: 0,
  samples: [],
});
session("a5", { records: [], bad: 0, sources: [], samples: [], complete: false });
session("a6", {
  patch: (one) => ({ ...one, histogram: null, time: { first: null, last: null, zone: "UTC" } }),
});
session("a7", { patch: (one, query) => manyBuckets(one, query) });
session("a8", { grows: true, complete: false });

function overflow(one) {
  one.estimated = ["client", "path"];
  one.top.path?.push({ value: "", remainder: true, count: 4012, bytes_sent: 1, errors: 10 });
  one.top.path?.unshift({
    value: "/caf\ufffd",
    value_hex: "2f636166e9",
    count: 9000,
    bytes_sent: 1,
    errors: 4000,
  });
  one.top.upstream_cache_status = [
    { value: "HIT", count: 50_000, bytes_sent: 1, errors: 0 },
    { value: "MISS", count: 10_000, bytes_sent: 1, errors: 0 },
  ];
  return one;
}

function manyBuckets(one, query) {
  const start = Date.UTC(2023, 0, 1) / 1000;
  const buckets = Array.from({ length: 10_000 }, (_, at) => {
    const count = Math.round(400 + 300 * Math.sin(at / 80) + (at % 997 === 0 ? 900 : 0));
    return {
      start: new Date((start + at * 3600) * 1000).toISOString().slice(0, 19) + "Z",
      count,
      by: { "2xx": count - 40, "4xx": 30, "5xx": 10 },
    };
  });
  one.histogram = {
    step_s: 3600,
    field: query.stack,
    groups: ["2xx", "4xx", "5xx"],
    until: new Date((start + 36e6) * 1000).toISOString().slice(0, 19) + "Z",
    buckets,
  };
  return one;
}

const DEFAULT_QUERY = {
  id: 0,
  clauses: [],
  zone: null,
  top: 10,
  stack: "status_class",
  buckets: 400,
};

function view(one, query) {
  const shown = one.grows ? one.records.slice(0, one.grown ?? 0) : one.records;
  return {
    query: query.id,
    complete: one.complete,
    sources: one.sources,
    report: one.patch(report(shown, query, shown.length || !one.grows ? one.bad : 0), query),
    samples: one.samples,
    memory_bytes: 1e7,
    memory_bytes_max: 1e9,
    notes: one.notes,
  };
}

/** Lets the records of a growing session come in over ten seconds, again and again. */
function grow(one) {
  const part = Math.min(1, ((Date.now() / 1000) % 14) / 10);
  one.grown = Math.floor(one.records.length * part);
  one.complete = part === 1;
  one.sources = [
    source({
      state: part === 1 ? "done" : "reading",
      bytes_done: 1.15e9 * part,
      bytes_total: 1.15e9,
      lines: one.grown,
      records: one.grown,
    }),
  ];
}

function live(socket, one) {
  let query = DEFAULT_QUERY;
  let last = "";
  const push = () => {
    if (one.grows && !one.uploaded) grow(one);
    const text = JSON.stringify({ type: "view", view: view(one, query) });
    if (text !== last) socket.send((last = text));
  };
  const timer = setInterval(push, one.grows ? PUSH_MS * 4 : 1000);
  socket.on("close", () => clearInterval(timer));
  socket.on("message", (data) => {
    const asked = JSON.parse(data).query;
    const bad = asked.clauses.find((clause) => clause.op.endsWith("~") && clause.values[0] === "(");
    const refuse = (message) =>
      socket.send(
        JSON.stringify({ type: "error", error: { name: "bad_query", message, file: null } }),
      );
    if (bad) return refuse("regex parse error:\n    (\n    ^\nerror: unclosed group");
    if (asked.zone === "Mars/Olympus")
      return refuse(
        "there is no time zone `Mars/Olympus`; give an IANA name such as Europe/Zurich",
      );
    query = asked;
    setTimeout(push, 20);
  });
}

function upload(socket, one) {
  let at = null;
  const say = (message) => socket.send(JSON.stringify(message));
  const ack = (type) => {
    publish(one);
    say({ type, file: at.file, offset: at.bytes_done });
  };
  socket.on("message", (data, binary) => {
    if (binary) {
      at.bytes_done += data.length;
      at.lines = at.records = Math.floor(at.bytes_done / 250);
      return setTimeout(ack, 25, "ack");
    }
    const message = JSON.parse(data);
    if (message.type === "begin") {
      at = one.sources.find((known) => known.file === message.file);
      if (!at)
        one.sources.push(
          (at = source({
            file: message.file,
            name: message.name,
            state: "reading",
            bytes_done: 0,
            bytes_total: message.bytes_total,
            lines: 0,
            records: 0,
            unmatched: 0,
          })),
        );
      say({ type: "ready", file: at.file, offset: at.bytes_done, window_bytes: WINDOW });
    } else if (message.type === "end")
      setTimeout(() => {
        at.state = "done";
        ack("done");
      }, 60);
    else if (message.type === "cancel") {
      at.state = "cancelled";
      publish(one);
    }
  });
  socket.on("close", () => {
    if (at?.state === "reading") at.state = "interrupted";
  });
}

function publish(one) {
  const lines = one.sources.reduce((sum, known) => sum + known.lines, 0);
  one.grown = Math.min(one.records.length, lines);
  one.complete = one.sources.every(
    (known) => known.state !== "reading" && known.state !== "interrupted",
  );
}

let made = 0;
const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  const api = /^\/api\/sessions(?:\/([0-9a-f]+)\/report)?$/.exec(path);
  if (api && request.method === "POST") {
    const id = `b${(made += 1)}`;
    session(id, { grows: true, uploaded: true, complete: false, sources: [], bad: 0, samples: [] });
    return response
      .writeHead(201, { "content-type": "application/json" })
      .end(JSON.stringify({ id }));
  }
  if (api) return response.writeHead(sessions.has(api[1]) ? 200 : 404).end();
  const page = /^\/s\/(\w+)$/.exec(path);
  if (request.method === "HEAD" && page)
    return response.writeHead(sessions.has(page[1]) ? 200 : 404).end();
  const file = path === "/" || path.startsWith("/s/") ? "/index.html" : path;
  try {
    const body = await readFile(new URL(`../dist${file}`, import.meta.url));
    response
      .writeHead(200, {
        "content-type": TYPES[file.split(".").pop()],
        "content-security-policy": CSP,
      })
      .end(body);
  } catch {
    response.writeHead(404).end();
  }
});

const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 << 20 });
server.on("upgrade", (request, socket, head) => {
  const [, id, kind] = /^\/api\/sessions\/([0-9a-f]+)\/(live|upload)$/.exec(request.url) ?? [];
  const one = sessions.get(id);
  if (!one) return socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
  sockets.handleUpgrade(request, socket, head, (open) =>
    kind === "live" ? live(open, one) : upload(open, one),
  );
});
server.listen(PORT, "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}/s/a0`));
