// Made-up answers to the rules panel, among them hostile and long keys.

/** @typedef {import("../src/generated/LiveReply").LiveReply} LiveReply */
/** @typedef {import("../src/generated/LiveRequest").LiveRequest} LiveRequest */
/** @typedef {import("../src/generated/ReplayedKey").ReplayedKey} ReplayedKey */
/** @typedef {import("../src/generated/RuleAnswer").RuleAnswer} RuleAnswer */

const KEYS = 90;
const BURST = 20;
const HOSTILE = ["<b>bold</b>\u202e\u0007", `/${"long/".repeat(60)}`];

/**
 * The reply to a question of the panel. A text with `mistake` is refused, one with `nothing`
 * applies to no request, and one with `hostile` has keys that attack the page.
 *
 * @param {Extract<LiveRequest, { type: "rules" }>} request
 * @returns {LiveReply}
 */
export function ruled({ panel, query, rule }) {
  const text = rule?.text ?? "";
  const reply = { type: /** @type {const} */ ("rules"), panel, query: query.id };
  const start = text.indexOf("mistake");
  if (start >= 0) {
    const error = { name: "bad_rule", message: "`mistake` is not a parameter", file: null };
    const excerpt = "limit_req zone=one mistake;\n                   ^^^^^^^";
    return { ...reply, error, place: { line: 2, column: 20, start, end: start + 7, excerpt } };
  }
  const keys = text.includes("nothing") ? [] : peaks().map((peak, at) => keyOf(peak, at, text));
  return { ...reply, answer: { rules: [answerOf(keys)], notes: [], complete: true } };
}

function peaks() {
  return Array.from({ length: KEYS }, (_, at) => Number((400 / (at + 1)).toFixed(3)));
}

/**
 * @param {number} peak
 * @param {number} at
 * @param {string} text
 * @returns {ReplayedKey}
 */
function keyOf(peak, at, text) {
  const rejected = Math.max(0, Math.floor(peak) - BURST);
  const hostile = text.includes("hostile") ? HOSTILE[at] : undefined;
  return {
    key: hostile ?? `203.0.113.${at + 1}`,
    verdict: rejected > 0 ? "rejected" : "passed",
    time: "2024-05-12T18:00:00.250+02:00",
    source: "access.log",
    line: 1 + at,
    peak,
    margin: peak - BURST,
    passed: 5,
    delayed: 15,
    rejected,
    undecided: 0,
  };
}

/**
 * @param {ReplayedKey[]} keys
 * @returns {RuleAnswer}
 */
function answerOf(keys) {
  const over = (/** @type {number} */ burst) => keys.filter(({ peak }) => peak > burst);
  const points = [0, 1, 2, 3, 5, 8, 12, 20, 33, 55, 90, 150, 250, 400].map((burst) => ({
    burst,
    keys: over(burst).length,
    requests: over(burst).reduce((sum, { peak }) => sum + Math.ceil(peak) - burst, 0),
  }));
  const tripped = over(BURST);
  const rejected = keys.reduce((sum, key) => sum + key.rejected, 0);
  return {
    rule: {
      name: "one",
      family: "nginx",
      description: "zone one rate=5r/s burst=20",
      exactness: "bounded",
      notes: ["the log's times are whole seconds"],
      keys: { seen: keys.length, tripped: tripped.length, undecided: 0 },
      requests: { passed: 5 * keys.length, delayed: 15 * keys.length, rejected, undecided: 0 },
      trips: tripped,
      closest: keys.slice(tripped.length),
      bans: [],
      alerts: [],
    },
    curve: { rate: 5, burst: BURST, points, peaks: keys.map(({ peak }) => peak) },
    unknown_records: 0,
  };
}
