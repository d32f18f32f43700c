// Answers a query over made-up records in the shape of the real server's views.

const OFFSET = "+02:00";
const STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 86400];
const LISTS = [
  "client",
  "path",
  "status",
  "method",
  "host",
  "referer",
  "user_agent",
  "protocol",
  "user",
];

const stamp = (time) => new Date((time + 7200) * 1000).toISOString().slice(0, 19) + OFFSET;

function passes(record, { field, op, values }) {
  const own = field === "time" ? record.time : record[field];
  const other = field === "time" ? Date.parse(values[0]) / 1000 : values[0];
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

function tally(found, key, record) {
  const row = found.get(key) ?? { value: key, count: 0, bytes_sent: 0, errors: 0 };
  row.count += 1;
  row.bytes_sent += record.bytes;
  if (record.status >= "400") row.errors += 1;
  found.set(key, row);
}

function histogram(matched, query) {
  if (matched.length === 0) return null;
  const first = matched[0].time;
  const last = matched.at(-1).time;
  const step = STEPS.find((one) => (last - first) / one < query.buckets - 1) ?? 86400;
  const base = Math.floor((first + 7200) / step) * step - 7200;
  const length = Math.floor((last - base) / step) + 1;
  const buckets = Array.from({ length }, (_, at) => ({
    start: stamp(base + at * step),
    count: 0,
    by: {},
  }));
  for (const record of matched) {
    const bucket = buckets[Math.floor((record.time - base) / step)];
    bucket.count += 1;
    bucket.by[record[query.stack]] = (bucket.by[record[query.stack]] ?? 0) + 1;
  }
  const groups = [...new Set(matched.map((record) => record[query.stack]))].sort();
  return { step_s: step, field: query.stack, groups, until: stamp(base + length * step), buckets };
}

/** The report over `records`, of which each line is `bytes_line` long. */
export function report(records, query, bad) {
  const matched = records.filter((record) =>
    query.clauses.every((clause) => passes(record, clause)),
  );
  const top = {};
  const distinct = {};
  for (const field of LISTS) {
    const found = new Map();
    for (const record of matched) tally(found, record[field], record);
    distinct[field] = found.size;
    top[field] = [...found.values()]
      .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, query.top);
  }
  const times = matched.map((record) => record.latency).sort((a, b) => a - b);
  const at = (part) => times[Math.min(times.length - 1, Math.ceil(part * times.length) - 1)];
  return {
    lines: records.length + bad,
    records: records.length,
    matched: matched.length,
    unmatched: bad,
    too_long: 0,
    bytes_read: records.length * 250,
    bytes_sent: matched.reduce((sum, record) => sum + record.bytes, 0),
    errors: matched.filter((record) => record.status >= "400").length,
    format: {
      name: "COMBINED",
      definition:
        '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"',
    },
    time: {
      first: matched.length ? stamp(matched[0].time) : null,
      last: matched.length ? stamp(matched.at(-1).time) : null,
      zone: OFFSET,
    },
    histogram: histogram(matched, query),
    distinct,
    top,
    request_time: matched.length
      ? { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) }
      : null,
    upstream_time: null,
    estimated: [],
    absent: [],
    directives: 0,
  };
}
