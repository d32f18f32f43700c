// The sessions of the stand-in server: fixed situations, and one that grows by itself.

import { report } from "./answer.mjs";
import { mixed, records } from "./data.mjs";

/** @typedef {import("./data.mjs").LogRecord} LogRecord */
/** @typedef {import("../src/generated/Query").Query} Query */
/** @typedef {import("../src/generated/Report").Report} Report */
/** @typedef {import("../src/generated/Sample").Sample} Sample */
/** @typedef {import("../src/generated/Source").Source} Source */
/** @typedef {import("../src/generated/View").View} View */

/**
 * @typedef {object} Session
 * @property {LogRecord[]} records All records that the session may show.
 * @property {number} shown How many of them are shown.
 * @property {number} unparsed Lines that are not records.
 * @property {boolean} complete
 * @property {boolean} grows Whether records come in again and again, without an upload.
 * @property {Source[]} sources
 * @property {Sample[]} samples
 * @property {string[]} notes
 * @property {(one: Report, query: Query) => Report} patch Makes a report unusual.
 */

/** @type {Query} */
export const DEFAULT_QUERY = {
  id: 0,
  clauses: [],
  zone: null,
  top: 10,
  stack: "status_class",
  buckets: 400,
};

/** @type {Sample[]} */
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

let sources_begun = 0;

/**
 * @param {Partial<Source>} over
 * @returns {Source}
 */
function source(over = {}) {
  sources_begun += 1;
  return {
    number: sources_begun,
    fingerprint: null,
    file: "",
    name: "access.log",
    state: "done",
    bytes_done: 15e6,
    bytes_total: 15e6,
    lines: 60_002,
    records: 60_000,
    unparsed_lines: 2,
    too_long_lines: 0,
    format: { name: "COMBINED", definition: "" },
    formats: [{ name: "COMBINED", records: 60_000 }],
    format_share: 1,
    message: null,
    ...over,
  };
}

const NORMAL = records(60_000);

/**
 * @param {Partial<Session>} over
 * @returns {Session}
 */
function session(over) {
  const all = over.records ?? NORMAL;
  return {
    records: all,
    shown: all.length,
    unparsed: 2,
    complete: true,
    grows: false,
    sources: [source()],
    samples: SAMPLES,
    notes: [],
    patch: (one) => one,
    ...over,
  };
}

/** @returns {Session} */
function hostileSession() {
  const archives = Array.from({ length: 9 }, (_, at) =>
    source({ name: `access.log.${at + 1}.gz` }),
  );
  const message = "The gzip data ends early, at byte 120,444. What was read before it stands.";
  return session({
    records: records(60_000, { hostile: true, hours: 400 }),
    sources: [
      source({ name: "<b>evil</b>\u202e.log" }),
      ...archives,
      source({ name: "cut.gz", state: "failed", message }),
    ],
    notes: ["The log mixes the offsets +02:00 and +01:00; times are shown in +02:00."],
    patch: withEstimates,
  });
}

/** @type {Session["patch"]} */
function withEstimates(one) {
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

/** @type {Session["patch"]} */
function withManyBuckets(one, query) {
  const start = Date.UTC(2023, 0, 1) / 1000;
  /** @param {number} time */
  const stamp = (time) => `${new Date(time * 1000).toISOString().slice(0, 19)}Z`;
  const buckets = Array.from({ length: 10_000 }, (_, at) => {
    const count = Math.round(400 + 300 * Math.sin(at / 80) + (at % 997 === 0 ? 900 : 0));
    return {
      start: stamp(start + at * 3600),
      count,
      by: { "2xx": count - 40, "4xx": 30, "5xx": 10 },
    };
  });
  one.histogram = {
    step_s: 3600,
    field: query.stack,
    groups: ["2xx", "4xx", "5xx"],
    until: stamp(start + 36e6),
    buckets,
  };
  return one;
}

/** @type {Session["patch"]} */
function withoutTime(one) {
  return { ...one, histogram: null, time: { first: null, last: null, zone: "UTC" } };
}

/** A minute of one client. */
function shortSession() {
  const time = NORMAL[0]?.time ?? 0;
  const minute = NORMAL.slice(0, 40).map((record) => ({ ...record, time }));
  return session({ records: minute, unparsed: 0, samples: [] });
}

/** @type {Map<string, Session>} */
export const sessions = new Map([
  ["a0", session({})],
  ["a2", hostileSession()],
  [
    "a3",
    session({
      records: [],
      unparsed: 1234,
      sources: [
        source({
          name: "syslog",
          lines: 1234,
          records: 0,
          unparsed_lines: 1234,
          format_share: 0.03,
        }),
      ],
    }),
  ],
  ["a4", shortSession()],
  ["a5", session({ records: [], unparsed: 0, sources: [], samples: [], complete: false })],
  ["a6", session({ patch: withoutTime })],
  ["a7", session({ patch: withManyBuckets })],
  ["a8", session({ grows: true, complete: false })],
  ["a9", session({ records: mixed(NORMAL) })],
]);

/** Adds an empty session for uploads and returns its id. */
export function addSession() {
  const id = `b${sessions.size}`;
  sessions.set(id, session({ shown: 0, complete: false, sources: [], unparsed: 0, samples: [] }));
  return id;
}

/**
 * @param {Session} one
 * @param {Query} query
 * @returns {View}
 */
export function viewOf(one, query) {
  const shown = one.records.slice(0, one.shown);
  const isEmpty = shown.length === 0 && one.records.length > 0;
  return {
    query: query.id,
    complete: one.complete,
    sources: one.sources,
    report: one.patch(report(shown, query, isEmpty ? 0 : one.unparsed), query),
    samples: one.samples,
    memory_bytes: 1e7,
    memory_bytes_max: 1e9,
    window: null,
    notes: one.notes,
  };
}

/**
 * Shows as many records as have come in by `now_ms`: all in ten seconds, then again from none.
 *
 * @param {Session} one
 * @param {number} now_ms
 */
export function grow(one, now_ms) {
  const part = Math.min(1, ((now_ms / 1000) % 14) / 10);
  one.shown = Math.floor(one.records.length * part);
  one.complete = part === 1;
  one.sources = [
    source({
      state: one.complete ? "done" : "reading",
      bytes_done: 1.15e9 * part,
      bytes_total: 1.15e9,
      lines: one.shown,
      records: one.shown,
    }),
  ];
}

/**
 * The source that an upload sends; a new one if the session does not have the file yet.
 *
 * @param {Session} one
 * @param {{ file: string, name: string, bytes_total: number | null }} upload
 */
export function uploadedSource(one, { file, name, bytes_total }) {
  const known = one.sources.find((other) => other.file === file);
  if (known) return known;
  const counts = { lines: 0, records: 0, unparsed_lines: 0 };
  const added = source({ file, name, state: "reading", bytes_done: 0, bytes_total, ...counts });
  one.sources.push(added);
  return added;
}

/**
 * Shows as many records as the uploads have lines.
 *
 * @param {Session} one
 */
export function publish(one) {
  const lines = one.sources.reduce((sum, known) => sum + known.lines, 0);
  one.shown = Math.min(one.records.length, lines);
  one.complete = one.sources.every(({ state }) => state !== "reading" && state !== "interrupted");
}
