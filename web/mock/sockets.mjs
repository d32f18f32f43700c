// The two WebSocket protocols of the stand-in server.

import { blocked } from "./blocks.mjs";
import { ruled } from "./rules.mjs";
import { DEFAULT_QUERY, grow, publish, uploadedSource, viewOf } from "./sessions.mjs";

/** @typedef {import("./sessions.mjs").Session} Session */
/** @typedef {import("../src/generated/LiveReply").LiveReply} LiveReply */
/** @typedef {import("../src/generated/LiveRequest").LiveRequest} LiveRequest */
/** @typedef {import("../src/generated/Query").Query} Query */
/** @typedef {import("../src/generated/Source").Source} Source */
/** @typedef {import("../src/generated/UploadReply").UploadReply} UploadReply */
/** @typedef {import("../src/generated/UploadRequest").UploadRequest} UploadRequest */

/**
 * The part of a WebSocket that is used.
 *
 * @typedef {object} Socket
 * @property {(text: string) => void} send
 * @property {(event: string, listener: (data: Uint8Array, isBinary: boolean) => void) => void} on
 */

const WINDOW_BYTES = 32 << 20;
const LINE_BYTES = 250;
const PUSH_MS = 1_000;
const PUSH_MS_GROWING = 200;

/**
 * Sends a view of the session after each question and whenever it has changed.
 *
 * @param {Socket} socket
 * @param {Session} one
 */
export function live(socket, one) {
  let query = DEFAULT_QUERY;
  let last = "";
  /** @param {LiveReply} reply */
  const reply = (reply) => socket.send(JSON.stringify(reply));
  const push = () => {
    if (one.grows) grow(one, Date.now());
    const view = viewOf(one, query);
    const text = JSON.stringify(view);
    if (text === last) return;
    last = text;
    reply({ type: "view", view });
  };
  const timer = setInterval(push, one.complete ? PUSH_MS : PUSH_MS_GROWING);
  socket.on("close", () => clearInterval(timer));
  socket.on("message", (data) => {
    const request = /** @type {LiveRequest} */ (JSON.parse(String(data)));
    if (request.type === "rules" || request.type === "blocks") {
      const answer = answerOfPanel(request);
      if (answer !== null) reply(answer);
      return;
    }
    const { type, query: asked } = request;
    if (asked === null) return;
    if (type === "count") {
      const { kind, kinds, matching } = viewOf(one, asked).report;
      const records = kinds.find((other) => other.kind === kind)?.records ?? 0;
      return reply({ type: "count", query: asked.id, count: { kind, matching, records } });
    }
    const message = refusal(asked);
    if (message !== null) {
      reply({ type: "error", query: asked.id, error: { name: "bad_query", message, file: null } });
      return;
    }
    query = asked;
    setTimeout(push, 20);
  });
}

/**
 * The answer to a panel; `null` if the message only ends its question.
 *
 * @param {Extract<LiveRequest, { type: "rules" | "blocks" }>} request
 * @returns {LiveReply | null}
 */
function answerOfPanel(request) {
  if (request.type === "rules") return request.rule === null ? null : ruled(request);
  return request.question === null ? null : blocked(request);
}

/**
 * Why a question is refused, or `null`.
 *
 * @param {Query} query
 */
function refusal({ clauses, zone }) {
  if (clauses.some(({ op, values }) => op.endsWith("~") && values[0] === "(")) {
    return "regex parse error:\n    (\n    ^\nerror: unclosed group";
  }
  if (zone !== "Mars/Olympus") return null;
  return "`Mars/Olympus` is not a known time zone; use an IANA name such as Europe/Zurich";
}

/**
 * Takes files and counts their bytes.
 *
 * @param {Socket} socket
 * @param {Session} one
 */
export function upload(socket, one) {
  /** @type {Source | null} */
  let source = null;
  /** @param {UploadReply} reply */
  const reply = (reply) => socket.send(JSON.stringify(reply));
  /**
   * @param {Source} from
   * @param {"ack" | "done"} type
   */
  const acknowledge = ({ file, bytes_done }, type) => {
    publish(one);
    reply({ type, file, offset: bytes_done });
  };
  socket.on("message", (data, isBinary) => {
    if (isBinary) {
      if (!source) return;
      source.bytes_done += data.length;
      source.records = Math.floor(source.bytes_done / LINE_BYTES);
      source.lines = source.records;
      setTimeout(acknowledge, 25, source, "ack");
      return;
    }
    const request = /** @type {UploadRequest} */ (JSON.parse(String(data)));
    if (request.type === "begin") {
      source = uploadedSource(one, request);
      const { file, bytes_done: offset } = source;
      reply({ type: "ready", file, offset, window_bytes: WINDOW_BYTES });
    } else if (request.type === "end" && source) {
      source.state = "done";
      setTimeout(acknowledge, 60, source, "done");
    } else if (request.type === "cancel" && source) {
      source.state = "cancelled";
      publish(one);
    }
  });
  socket.on("close", () => {
    if (source?.state === "reading") source.state = "interrupted";
  });
}
