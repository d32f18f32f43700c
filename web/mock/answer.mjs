// Answers a query over synthetic records, in the shape of the real server's reports.

/** @typedef {import("./data.mjs").LogRecord} LogRecord */
/** @typedef {import("../src/generated/Query").Query} Query */
/** @typedef {import("../src/generated/RecordKind").RecordKind} RecordKind */
/** @typedef {import("../src/generated/Clause").Clause} Clause */
/** @typedef {import("../src/generated/TopRow").TopRow} TopRow */
/** @typedef {import("../src/generated/Report").Report} Report */
/** @typedef {import("../src/generated/Histogram").Histogram} Histogram */
/** @typedef {import("../src/generated/Quantiles").Quantiles} Quantiles */

const OFFSET = "+02:00";
const OFFSET_S = 7200;
/** Bytes that each line of the log is taken to have. */
const LINE_BYTES = 250;
const STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 86400];
/** @type {Record<RecordKind, (keyof LogRecord)[]>} */
const LISTS = {
  request: [
    "client",
    "path",
    "status",
    "method",
    "host",
    "referer",
    "user_agent",
    "protocol",
    "user",
  ],
  error_log_line: ["client", "level", "message", "module"],
  firewall_event: ["client", "action", "dst-port"],
};
/** The kinds in the order in which the server prefers them. */
const KINDS = /** @type {RecordKind[]} */ (Object.keys(LISTS));
/** The field that the default stack stands for. */
const STACKS = { request: "status_class", error_log_line: "level", firewall_event: "action" };

/** @param {number} time */
const stamp = (time) => new Date((time + OFFSET_S) * 1000).toISOString().slice(0, 19) + OFFSET;

/**
 * The text of a field; empty for a field that no record has.
 *
 * @param {LogRecord} record
 * @param {string} field
 */
function textOf(record, field) {
  return String(record[/** @type {keyof LogRecord} */ (field)] ?? "");
}

/**
 * @param {LogRecord} record
 * @param {Clause} clause
 */
function passes(record, { field, op, values }) {
  const own = field === "time" ? stamp(record.time) : textOf(record, field);
  const other = values[0] ?? "";
  switch (op) {
    case "=":
      return values.includes(own);
    case "!=":
      return !values.includes(own);
    case "^=":
      return own.startsWith(other);
    case "~":
      return new RegExp(other).test(own);
    case "!~":
      return !new RegExp(other).test(own);
    case "<":
      return own < other;
    case "<=":
      return own <= other;
    case ">":
      return own > other;
    case ">=":
      return own >= other;
    default:
      return false;
  }
}

/**
 * Counts a record for one value.
 *
 * @param {Map<string, TopRow>} rows
 * @param {string} value
 * @param {LogRecord} record
 */
function tally(rows, value, record) {
  const row = rows.get(value) ?? { value, count: 0, bytes_sent: 0, errors: 0 };
  row.count += 1;
  row.bytes_sent += record.bytes;
  if (record.status >= "400") row.errors += 1;
  rows.set(value, row);
}

/**
 * @param {LogRecord[]} matched
 * @param {Query} query
 * @param {RecordKind} kind
 * @returns {Histogram | null}
 */
function histogram(matched, query, kind) {
  const [first, last] = [matched[0]?.time, matched.at(-1)?.time];
  if (first === undefined || last === undefined) return null;
  const field = query.stack === "status_class" ? STACKS[kind] : query.stack;
  const step = STEPS.find((one) => (last - first) / one < query.buckets - 1) ?? 86400;
  const base = Math.floor((first + OFFSET_S) / step) * step - OFFSET_S;
  const length = Math.floor((last - base) / step) + 1;
  const buckets = Array.from({ length }, (_, at) => ({
    start: stamp(base + at * step),
    count: 0,
    by: /** @type {Record<string, number>} */ ({}),
  }));
  for (const record of matched) {
    const bucket = buckets[Math.floor((record.time - base) / step)];
    if (!bucket) continue;
    const group = textOf(record, field) || "(none)";
    bucket.count += 1;
    bucket.by[group] = (bucket.by[group] ?? 0) + 1;
  }
  const groups = [...new Set(matched.map((record) => textOf(record, field) || "(none)"))].sort();
  return { step_s: step, field, groups, until: stamp(base + length * step), buckets };
}

/**
 * The histogram of a report, and that of the kind that the query overlays. Both get the buckets of
 * the first, which needs records of both kinds in the same time range.
 *
 * @param {LogRecord[]} matched
 * @param {Query} query
 * @param {RecordKind} kind
 * @param {LogRecord[]} records
 */
function histograms(matched, query, kind, records) {
  const own = histogram(matched, query, kind);
  const others = records.filter((record) => record.kind === query.overlay);
  const overlay =
    query.overlay && histogram(others, { ...query, stack: "status_class" }, query.overlay);
  if (!own || !overlay) return { histogram: own };
  const byStart = new Map(overlay.buckets.map((bucket) => [bucket.start, bucket]));
  const buckets = own.buckets.map(({ start }) => byStart.get(start) ?? { start, count: 0, by: {} });
  return { histogram: own, overlay: { ...overlay, until: own.until, buckets } };
}

/**
 * @param {LogRecord[]} matched
 * @returns {Quantiles | null}
 */
function quantiles(matched) {
  const times = matched.map((record) => record.latency).sort((a, b) => a - b);
  if (times.length === 0) return null;
  /** @param {number} part */
  const at = (part) => times[Math.max(0, Math.ceil(part * times.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/**
 * The number of records of each kind that has any.
 *
 * @param {LogRecord[]} records
 */
function countsOf(records) {
  const counts = KINDS.map((kind) => ({
    kind,
    records: records.filter((record) => record.kind === kind).length,
  }));
  return counts.filter((count) => count.records > 0);
}

/**
 * The report of a query over `records`, beside `unparsed` lines that are not records.
 *
 * @param {LogRecord[]} records
 * @param {Query} query
 * @param {number} unparsed
 * @returns {Report}
 */
export function report(records, query, unparsed) {
  const kinds = countsOf(records);
  const kind = query.kind ?? kinds[0]?.kind ?? "request";
  const own = records.filter((record) => record.kind === kind);
  const matched = own.filter((record) => query.clauses.every((clause) => passes(record, clause)));
  const fields = query.clauses.map(({ field }) => field);
  const isMissing = (/** @type {string} */ field) =>
    field !== "time" && !LISTS[kind].some((name) => name === field);
  /** @type {Report["top"]} */
  const top = {};
  /** @type {Report["distinct"]} */
  const distinct = {};
  for (const field of LISTS[kind]) {
    /** @type {Map<string, TopRow>} */
    const rows = new Map();
    for (const record of matched) tally(rows, textOf(record, field), record);
    distinct[field] = rows.size;
    top[field] = [...rows.values()]
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, query.top);
  }
  const [first, last] = [matched[0], matched.at(-1)];
  return {
    lines: records.length + unparsed,
    records: records.length,
    kind,
    kinds,
    matching: matched.length,
    unparsed_lines: unparsed,
    too_long_lines: 0,
    directive_lines: 0,
    bytes_read: records.length * LINE_BYTES,
    bytes_sent: matched.reduce((sum, record) => sum + record.bytes, 0),
    errors: matched.filter((record) => record.status >= "400").length,
    format: {
      name: "COMBINED",
      definition:
        '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"',
    },
    formats: [{ name: "COMBINED", records: records.length }],
    time: {
      first: first ? stamp(first.time) : null,
      last: last ? stamp(last.time) : null,
      zone: OFFSET,
    },
    ...histograms(matched, query, kind, records),
    distinct,
    top,
    request_time: kind === "request" ? quantiles(matched) : null,
    upstream_time: null,
    estimated: [],
    absent: kind === "request" ? [] : ["bytes_sent", "errors"],
    missing_fields: fields.filter(isMissing),
  };
}
