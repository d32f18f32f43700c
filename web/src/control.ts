/**
 * Where the sockets, the address and the state meet: everything a person can do to the
 * page that is more than a look at it.
 */

import type { Clause } from "./generated/Clause";
import type { View } from "./generated/View";
import { browserHost } from "./socket/host";
import type { Sending } from "./socket/job";
import { LiveSocket } from "./socket/live";
import { RateMeter } from "./socket/rate";
import { createSession, sessionExists } from "./socket/session";
import { type NamedFile, Uploads } from "./socket/uploads";
import { sameClauses } from "./state/filter";
import { afterFrame, inNextFrame } from "./state/frame";
import { DEFAULT_QUESTION, hasLines, type Question, type Upload } from "./state/state";
import { dispatch, state } from "./state/store";
import { addressOf, questionOf, searchOf, sessionOf } from "./state/url";

/** Buckets the histogram may have: three or four pixels each on a usual screen. */
const BUCKETS_MAX = 400;
/** How often the speeds are worked out again while nothing arrives. */
const RATE_TICK_MS = 500;

const GONE =
  "The server does not hold this data set any more. It frees a data set when its page has " +
  "been closed for a while, or when it is restarted.";

/** How an attempt to change the question ended. */
export interface Outcome {
  isTaken: boolean;
  /** Why the server did not take it; `null` too where something else came first. */
  refusal: string | null;
}

/** A question that comes into force with its answer. */
interface Trial {
  query: number;
  question: Question;
  end(outcome: Outcome): void;
}

let live: LiveSocket | null = null;
let queries = 0;
let trial: Trial | null = null;
const uploads = new Map<string, Uploads>();
let sourceMeters: RateMeter[] = [];

/** Shows what the address names. Called once, and by Back and Forward. */
export function followAddress(): void {
  const question = questionOf(location.search);
  const session = sessionOf(location.pathname);
  const isNew = session !== state.value.session;
  endTrial({ isTaken: false, refusal: null });
  dispatch({ type: "question", question });
  if (isNew) openSession(session);
  else ask();
}

/** Starts reading files: into the session on the screen, or into a new one. */
export async function addFiles(files: readonly NamedFile[]): Promise<void> {
  if (files.length === 0) return;
  dispatch({ type: "notice", message: null });
  try {
    const session = state.value.session ?? (await startSession());
    uploadsOf(session).add(files, state.value.follow);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    notify(`No data set could be started. ${why}`);
  }
}

export function cancelUpload(file: string): void {
  const session = state.value.session;
  if (session !== null) uploads.get(session)?.cancel(file);
}

/** Reads on a file that was read to its end, as it grows. */
export function followUpload(file: string): void {
  const session = state.value.session;
  if (session !== null) void uploads.get(session)?.follow(file);
}

export function stopFollowing(file: string): void {
  const session = state.value.session;
  if (session !== null) uploads.get(session)?.stop(file);
}

/** Whether files that come are followed. */
export function chooseFollow(follow: boolean): void {
  dispatch({ type: "follow", follow });
}

/** Shows a sentence until the person dismisses it. */
export function notify(message: string | null): void {
  dispatch({ type: "notice", message });
}

/** Changes the filter, as one step that Back undoes. */
export function filterBy(clauses: Clause[]): void {
  if (!sameClauses(clauses, state.value.question.clauses)) change({ clauses });
}

/** Changes the question, as one step that Back undoes. */
export function change(part: Partial<Question>): void {
  endTrial({ isTaken: false, refusal: null });
  step({ ...state.value.question, ...part });
  ask();
}

/**
 * Changes the question if the server understands it. Until its answer is there, and where
 * there is none, the question before it stays in force.
 */
export function attempt(part: Partial<Question>): Promise<Outcome> {
  endTrial({ isTaken: false, refusal: null });
  const before = state.value.question;
  const question = { ...before, ...part };
  if (searchOf(question) === searchOf(before))
    return Promise.resolve({ isTaken: true, refusal: null });
  send(question);
  return new Promise((end) => {
    trial = { query: queries, question, end };
  });
}

/** Undoes the last step; without one, as in a shared address, drops the last clause. */
export function undo(): void {
  const { clauses } = state.value.question;
  if (depth() > 0) history.back();
  else if (clauses.length > 0) filterBy(clauses.slice(0, -1));
  else if (state.value.refusal !== null) change(DEFAULT_QUESTION);
}

/** True while leaving the page would break off an upload. */
export function isUploading(): boolean {
  return [...uploads.values()].some((one) => one.isBusy);
}

function step(question: Question): void {
  history.pushState({ depth: depth() + 1 }, "", addressOf(state.value.session, question));
  dispatch({ type: "question", question });
}

function endTrial(outcome: Outcome): void {
  const ended = trial;
  trial = null;
  ended?.end(outcome);
}

function depth(): number {
  const entry = history.state as { depth?: number } | null;
  return entry?.depth ?? 0;
}

async function startSession(): Promise<string> {
  const session = await createSession();
  history.pushState({ depth: 0 }, "", addressOf(session, state.value.question));
  openSession(session);
  return session;
}

function openSession(session: string | null): void {
  live?.close();
  live = null;
  sourceMeters = [];
  dispatch({ type: "session", session });
  if (session === null) return;
  dispatch({ type: "connection", connection: "opening" });
  live = new LiveSocket(browserHost, `/api/sessions/${session}/live`, {
    opened: () => dispatch({ type: "connection", connection: "open" }),
    lost: () => void lost(session),
    view: (view) => inNextFrame("view", () => show(session, view), isUrgent(view)),
    // The end of a session also closes the connection, and `lost` finds out why.
    failed: (failure) => failure.name !== "session_ended" && refused(failure.message),
  });
  ask();
}

/**
 * What is no mere growth of the picture on the screen: the first, an answer, and the last; and
 * what was appended to a file, which nobody is still busy reading.
 */
function isUrgent(view: View): boolean {
  const shown = state.value.view;
  if (!view.sources.some((source) => source.state === "reading" && source.bytes_total !== null))
    return true;
  return view.complete || view.query !== shown?.query || shown.report.records === 0;
}

function ask(): void {
  send(state.value.question);
}

function send(question: Question): void {
  if (!live) return;
  queries += 1;
  dispatch({ type: "asked", query: queries });
  live.ask({ id: queries, ...question, buckets: BUCKETS_MAX });
}

function refused(message: string): void {
  if (trial) {
    endTrial({ isTaken: false, refusal: message });
    // So that the question in force is also the one that a new connection asks.
    ask();
    return;
  }
  dispatch({ type: "refused", message });
  // A shared address may hold a question that nobody can answer: show the data without it.
  if (state.value.view === null) send(DEFAULT_QUESTION);
}

async function lost(session: string): Promise<void> {
  dispatch({ type: "connection", connection: "lost" });
  if ((await sessionExists(session)) !== false || state.value.session !== session) return;
  live?.close();
  live = null;
  dispatch({ type: "connection", connection: "gone" });
  uploads.get(session)?.abort(GONE);
}

function show(session: string, view: View): void {
  if (session !== state.value.session) return;
  if (trial && trial.query === view.query) {
    step(trial.question);
    endTrial({ isTaken: true, refusal: null });
  }
  const now = performance.now();
  const source_rates = view.sources.map((source, at) => {
    sourceMeters[at] ??= new RateMeter();
    const meter = sourceMeters[at];
    meter.add(now, source.bytes_done);
    return meter.rate(now);
  });
  dispatch({ type: "view", view, source_rates });
  if (hasLines(view)) afterFrame(() => uploads.get(session)?.goOn());
}

function uploadsOf(session: string): Uploads {
  const known = uploads.get(session);
  if (known) return known;
  const created: Uploads = new Uploads(browserHost, session, (all) => showUploads(created, all));
  // A hidden page draws nothing.
  if (!document.hidden && !hasLines(state.value.view)) created.beginOnly();
  uploads.set(session, created);
  return created;
}

function showUploads(from: Uploads, all: readonly Sending[]): void {
  inNextFrame(
    `uploads ${from.session}`,
    () => {
      dispatch({ type: "uploads", uploads: all.map((one) => uploadOf(from, one)) });
      if (from.isBusy) tickLater(from, all);
    },
    !from.isBusy,
  );
}

let tick: ReturnType<typeof setTimeout> | undefined;

/** Lets a speed fall while no ack arrives to say so. */
function tickLater(from: Uploads, all: readonly Sending[]): void {
  clearTimeout(tick);
  tick = setTimeout(() => showUploads(from, all), RATE_TICK_MS);
}

function uploadOf(from: Uploads, one: Sending): Upload {
  return {
    file: one.file,
    session: from.session,
    name: one.name,
    phase: one.phase,
    bytes_total: one.bytes_total,
    bytes_done: one.acked,
    bytes_per_second: from.rateOf(one),
    message: one.message,
    isFollowable: one.isFollowable,
  };
}
