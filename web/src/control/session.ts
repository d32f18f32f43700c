/** The session on the screen: begun by files or by the address, shown as its views arrive. */

import type { Failure } from "../generated/Failure";
import type { View } from "../generated/View";
import { browserHost } from "../socket/host";
import { RateMeter } from "../socket/rate";
import { createSession, presenceOf, RefusedError, removeSource } from "../socket/session";
import { inNextFrame } from "../state/frame";
import { isGrowing } from "../state/rows";
import { canAsk, hasLines } from "../state/state";
import { awaiting, dispatch, state } from "../state/store";
import { STORY_BLOCKS_PANEL } from "../state/story";
import { sessionOf } from "../state/url";
import type { NamedFile } from "../upload/uploads";
import { noteDataSet, offerRoom } from "./dataSets";
import { currentQuestion, place, pushQuestion } from "./history";
import { closeLive, openLive, showCount } from "./live";
import { acceptTrial, ask, followQuestion, keepAnswered, refuse, refuseStep } from "./questions";
import { lined, ruled } from "./replies";
import { Restarts } from "./restarts";
import { abortUploads, endThrottle, endUploads, forgetUpload, upload } from "./uploads";
import { reloadIfNewer } from "./version";

const GONE =
  "The server no longer has this data set. It frees a data set when its page has " +
  "been closed for a while, or when it is restarted.";

const RESTARTED =
  "Weir was restarted, and the files that were added on this page are no longer part of the data " +
  "set. Add them again.";

/** Shows the session and the question of the address. Called once, and by Back and Forward. */
export function followAddress(): void {
  const session = sessionOf(place());
  const isNew = session !== state.value.session;
  if (!isNew && state.value.view !== null && !canAsk(state.value)) {
    refuseStep();
    return;
  }
  followQuestion(currentQuestion());
  if (isNew) openSession(session);
  else ask();
}

/**
 * Uploads files into the session on the screen, or into a new one. A file whose upload broke off
 * goes on where it stopped; about files that the session already has, the person is asked.
 */
export async function addFiles(files: readonly NamedFile[]): Promise<void> {
  if (files.length === 0) return;
  notify(null);
  try {
    const { sorted } = await import("./duplicates");
    await upload(state.value.session ?? (await startSession()), await sorted(files));
  } catch (error) {
    if (error instanceof RefusedError && error.refusal === "too_many_sessions") {
      await offerRoom(() => addFiles(files));
      return;
    }
    const why = error instanceof Error ? error.message : String(error);
    notify(`No data set could be created. ${why}`);
  }
}

/** Removes a source of the session on the screen, with all of its lines. */
export async function remove(number: number): Promise<void> {
  const { session, view } = state.value;
  if (session === null) return;
  const file = view?.sources.find((source) => source.number === number)?.file ?? "";
  try {
    await removeSource(session, number);
    if (file !== "") forgetUpload(file);
  } catch (error) {
    notify(`The file could not be removed. ${error instanceof Error ? error.message : ""}`);
  }
}

/** Shows a sentence until the person dismisses it. */
export function notify(message: string | null): void {
  dispatch({ type: "notice", message });
}

async function startSession(): Promise<string> {
  const session = await createSession();
  pushQuestion(session, state.value.question, 0);
  openSession(session);
  return session;
}

function openSession(session: string | null): void {
  closeLive();
  dispatch({ type: "session", session });
  if (session === null) return;
  dispatch({ type: "connection", connection: "opening" });
  noteDataSet(session, null);
  const meters = new Map<number, RateMeter>();
  openLive(session, {
    opened: () => dispatch({ type: "connection", connection: "open" }),
    lost: (losses) => void checkSession(session, losses),
    view: (view) => inNextFrame("view", () => show(session, view, meters), isUrgent(view)),
    failed: reject,
    counted: showCount,
    ruled: (reply) => ruled(session, reply),
    lined,
    measured: (reply) => dispatch({ type: "series_reply", reply }),
    listed: (reply) => dispatch({ type: "list_reply", reply }),
    blocked: (reply) =>
      dispatch({
        type: reply.panel === STORY_BLOCKS_PANEL ? "story_blocks" : "blocks_reply",
        reply,
      }),
  });
  ask();
}

/** The end of a session or of the server also closes the connection; `checkSession` handles that. */
function reject(failure: Failure, query: number | null): void {
  if (failure.name !== "session_ended" && failure.name !== "stopping") refuse(failure, query);
}

/**
 * Whether a view must be drawn at once: the first, an answer, the last, or new lines of sources
 * that have all been read. Others only add to a picture that is still growing.
 */
function isUrgent(view: View): boolean {
  const shown = state.value.view;
  if (!isGrowing(view)) return true;
  return view.complete || view.query !== shown?.query || shown.report.records === 0;
}

/** After so many lost connections in a row while HTTP works, something blocks WebSockets. */
const BLOCKED_AFTER = 2;

/** After a lost connection, finds out whether the session still exists. */
async function checkSession(session: string, losses: number): Promise<void> {
  const wasAwaiting = awaiting.value;
  const { connection } = state.value;
  if (connection === "open" || connection === "opening")
    dispatch({ type: "connection", connection: "lost" });
  if (wasAwaiting) keepAnswered();
  const presence = await presenceOf(session);
  if (state.value.session !== session || state.value.connection === "open") return;
  if (presence === "gone") {
    lose(session);
  } else if (presence === "locked") {
    dispatch({ type: "connection", connection: "locked" });
  } else {
    const isBlocked = presence === "there" && losses >= BLOCKED_AFTER;
    dispatch({ type: "connection", connection: isBlocked ? "blocked" : "lost" });
  }
}

/** The server does not have the session. An id never returns, but a name may, with another process. */
function lose(session: string): void {
  if (session !== state.value.served) closeLive();
  dispatch({ type: "connection", connection: "gone" });
  abortUploads(session, GONE);
}

const restarts = new Restarts(browserHost);

function show(session: string, view: View, meters: Map<number, RateMeter>): void {
  if (session !== state.value.session) return;
  const change = restarts.take(state.value.view, view);
  if (change === "hold") return;
  if (change === "new") beginAgain(session, meters);
  acceptTrial(view);
  const now_ms = performance.now();
  const source_rates = view.sources.map(({ number, bytes_done }) => {
    const meter = meters.get(number) ?? new RateMeter();
    meters.set(number, meter);
    meter.add(now_ms, bytes_done);
    return meter.rate(now_ms);
  });
  if (view.complete) noteDataSet(session, view.sources);
  dispatch({ type: "view", view, source_rates });
  if (hasLines(view)) endThrottle(session);
}

/** Goes on with the data set of another process. The question stays. */
function beginAgain(session: string, meters: Map<number, RateMeter>): void {
  meters.clear();
  if (endUploads(session, RESTARTED)) notify(RESTARTED);
  void reloadIfNewer();
}
