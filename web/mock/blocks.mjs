// Made-up answers to the blocks panel, among them a hostile address and a long sentence.

/** @typedef {import("../src/generated/BlockedClient").BlockedClient} BlockedClient */
/** @typedef {import("../src/generated/LiveReply").LiveReply} LiveReply */
/** @typedef {import("../src/generated/LiveRequest").LiveRequest} LiveRequest */

const ADDRESSES = ["203.0.113.7", "<b>bold</b>\u202e\u0007", "2001:db8::7d"];
const CLIENTS = 34;
const TOLD_S = 7_200;

/**
 * The reply to a question of the panel.
 *
 * @param {Extract<LiveRequest, { type: "blocks" }>} request
 * @returns {LiveReply}
 */
export function blocked({ panel, query, question }) {
  const offset_s = question?.clock_offset_s ?? TOLD_S;
  const estimate = {
    offset_s: TOLD_S,
    by: /** @type {const} */ ("rejections"),
    pairs: 1204,
    agreeing: 1199,
  };
  const report = {
    blocks: 48_211,
    unknown: 3,
    addresses: 812,
    window_s: question?.window_s ?? 600,
    clock: { offset_s, estimate },
    causes: [{ cause: /** @type {const} */ ("request_limit"), blocks: 48_211, sampled: 0 }],
    sampled: true,
    omissions: ["UFW logs at most 3 packets a minute for each of its rules."],
    clients: Array.from({ length: CLIENTS }, (_, at) => clientOf(at)),
  };
  return { type: "blocks", panel, query: query.id, answer: { report, complete: true } };
}

/**
 * @param {number} at
 * @returns {BlockedClient}
 */
function clientOf(at) {
  const client = ADDRESSES[at] ?? `198.51.100.${at}`;
  const blocks = Math.ceil(1204 / (at + 1));
  const path = at === 2 ? `/${"long/".repeat(12)}` : "/wp-login.php";
  return {
    client,
    blocks,
    first: "2024-05-12T12:00:04Z",
    last: "2024-05-12T12:03:04Z",
    rules: [{ cause: "request_limit", name: "one", blocks, excess: [10.04, 20.52] }],
    before: { requests: 1310, peak_per_second: 38, statuses: [{ value: "200", requests: 1000 }] },
    after: { requests: 0, statuses: [] },
    sentence:
      `${client} was rejected ${blocks} times by zone "one" (excess 10.0 to 20.5) within 3 min; ` +
      "in the 10 min up to the first, it sent 1,310 requests, at most 38 a second, " +
      `96.0% of them POST ${path}, 76.3% with status 200; after it, nothing`,
  };
}
