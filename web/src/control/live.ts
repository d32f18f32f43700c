/** The live connection of the session on the screen. */

import { bytes as bytesText } from "../format/bytes";
import type { BlocksQuestion } from "../generated/BlocksQuestion";
import type { Query } from "../generated/Query";
import type { RuleDetails } from "../generated/RuleDetails";
import type { RuleText } from "../generated/RuleText";
import type { SelectionCount } from "../generated/SelectionCount";
import type { WantedLines } from "../lines/reader";
import { browserHost } from "../socket/host";
import { type ListedPart, type LiveEvents, LiveSocket } from "../socket/liveSocket";
import { SelectionCounter } from "../socket/selectionCounter";
import { canAsk, type Question } from "../state/state";
import { blocks, dispatch, state } from "../state/store";

/** Upper limit of histogram buckets: three or four pixels each on a usual screen. */
const BUCKETS_MAX = 400;

/** The longest question, in bytes. The server closes a connection that sends more than 64 KiB. */
const QUESTION_BYTES_MAX = 60 << 10;

let socket: LiveSocket | null = null;

/** Connects to a session, instead of the previous one. */
export function openLive(session: string, events: LiveEvents): void {
  closeLive();
  socket = new LiveSocket(browserHost, `/api/sessions/${session}/live`, events);
}

/** Ends the connection. */
export function closeLive(): void {
  socket?.close();
  socket = null;
}

/** Why a question is too long to be sent; `null` if it is not. */
export function refusalOfLength(question: Question): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify(question)).length;
  if (bytes <= QUESTION_BYTES_MAX) return null;
  return (
    `This filter is too long: it has ${bytesText(bytes)}, and a filter can have ` +
    `${bytesText(QUESTION_BYTES_MAX)}. Filter by a part of the value, such as path^=/begin.`
  );
}

/** Sends a question; without a session it does nothing. */
export function send(question: Question): void {
  if (!socket) return;
  const id = state.value.asked + 1;
  dispatch({ type: "asked", query: id });
  socket.ask(queryOf(id, question));
}

const counter = new SelectionCounter(
  browserHost,
  (query) => socket?.count(query),
  (count) => {
    if (count !== state.value.typedCount) dispatch({ type: "counted", count });
  },
);

/** Counts what a question selects while it is typed; `null` counts nothing. */
export function countTyped(question: Question | null): void {
  const isCounted = question !== null && canAsk(state.value) && refusalOfLength(question) === null;
  counter.count(isCounted ? queryOf(0, question) : null);
}

/** Ends the work on a count, which would slow down the answer to the same question. */
export function stopCount(): void {
  counter.stop();
}

/** Asks what rules would have done with the records of a question; `null` ends that. */
export function askRules(
  panel: number,
  id: number,
  question: Question,
  rule: RuleText | null,
  details: RuleDetails = {},
): void {
  socket?.askRules(panel, queryOf(id, question), rule, details);
}

/** Asks for lines that a question selects. */
export function askLines(panel: number, id: number, question: Question, wanted: WantedLines): void {
  socket?.askLines(panel, queryOf(id, question), wanted);
}

/** Asks for the values of a field; without a question, the one before only ends. */
export function askList(
  panel: number,
  id: number,
  question: Question | null,
  part: ListPart = { group: "" },
): void {
  const { bounds, search, from, ...group } = part;
  const query = question && { ...queryOf(id, question), ...group };
  socket?.askList(panel, query, {
    ...(from !== undefined && { from }),
    ...(search !== undefined && { search }),
    ...(bounds && { bounds }),
  });
}

/** Which values of a list are asked for, and what of them. */
export interface ListPart extends Pick<Query, "group" | "measures" | "sort">, ListedPart {}

/** What is asked of spans of time. */
export interface WantedSeries {
  measures: readonly string[];
  /** The bounds of the spans, in seconds since 1970. */
  bounds: readonly number[];
  /** The duration by which the records of each span are counted. */
  map: string | null;
}

const NO_SERIES: WantedSeries = { measures: ["requests"], bounds: [], map: null };

/** Asks for measures of each span of time; without a question, those before only end. */
export function askSeries(id: number, question: Question | null, wanted = NO_SERIES): void {
  const { measures, bounds, map } = wanted;
  // The measures are those of a group, whichever it is.
  const asked = { group: "status_class", measures: [...measures] };
  socket?.askSeries(question && { ...queryOf(id, question), ...asked }, bounds, map);
}

/** Asks what tripped the rules in force; `null` ends that. */
export function askBlocks(
  panel: number,
  id: number,
  question: Question,
  asked: BlocksQuestion | null,
): void {
  socket?.askBlocks(panel, queryOf(id, question), asked);
}

/** Handles the answer to a count. */
export function showCount(count: SelectionCount | null, query: number | null): void {
  counter.answer(count, query);
}

/** How far the clock of the blocks is ahead of that of the requests, in seconds, as far as known. */
export function blocksAhead_s(): number {
  return blocks.peek().report?.clock.offset_s ?? 0;
}

function queryOf(id: number, question: Question): Query {
  const { kind, hasOverlay, measure: _measure, duration: _duration, ...others } = question;
  return {
    id,
    ...others,
    buckets: BUCKETS_MAX,
    ...(kind !== null && { kind }),
    ...(hasOverlay && { overlay: "firewall_event" as const, overlay_ahead_s: blocksAhead_s() }),
  };
}
