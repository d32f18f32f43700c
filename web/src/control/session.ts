/** The session on the screen: begun by files or by the address, shown as its views arrive. */

import type { Failure } from "../generated/Failure";
import type { View } from "../generated/View";
import { RateMeter } from "../socket/rate";
import { createSession, sessionExists } from "../socket/session";
import { inNextFrame } from "../state/frame";
import { hasLines } from "../state/state";
import { dispatch, state } from "../state/store";
import { sessionOf } from "../state/url";
import type { NamedFile } from "../upload/uploads";
import { currentQuestion, pushQuestion } from "./history";
import { closeLive, openLive } from "./live";
import { acceptTrial, ask, followQuestion, refuse } from "./questions";
import { abortUploads, endThrottle, upload } from "./uploads";

const GONE =
  "The server no longer has this data set. It frees a data set when its page has " +
  "been closed for a while, or when it is restarted.";

/** Shows the session and the question of the address. Called once, and by Back and Forward. */
export function followAddress(): void {
  const session = sessionOf(location.pathname);
  const isNew = session !== state.value.session;
  followQuestion(currentQuestion());
  if (isNew) openSession(session);
  else ask();
}

/** Uploads files into the session on the screen, or into a new one. */
export async function addFiles(files: readonly NamedFile[]): Promise<void> {
  if (files.length === 0) return;
  notify(null);
  try {
    upload(state.value.session ?? (await startSession()), files);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    notify(`No data set could be created. ${why}`);
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
  const meters: RateMeter[] = [];
  openLive(session, {
    opened: () => dispatch({ type: "connection", connection: "open" }),
    lost: () => void checkSession(session),
    view: (view) => inNextFrame("view", () => show(session, view, meters), isUrgent(view)),
    failed: reject,
  });
  ask();
}

/** The end of a session also closes the connection; `checkSession` handles that. */
function reject(failure: Failure): void {
  if (failure.name !== "session_ended") refuse(failure);
}

/**
 * Whether a view must be drawn at once: the first, an answer, the last, or new lines of sources
 * that have all been read. Others only add to a picture that is still growing.
 */
function isUrgent(view: View): boolean {
  const shown = state.value.view;
  const isGrowing = view.sources.some(
    (source) => source.state === "reading" && source.bytes_total !== null,
  );
  if (!isGrowing) return true;
  return view.complete || view.query !== shown?.query || shown.report.records === 0;
}

/** After a lost connection, finds out whether the session still exists. */
async function checkSession(session: string): Promise<void> {
  dispatch({ type: "connection", connection: "lost" });
  if ((await sessionExists(session)) !== false || state.value.session !== session) return;
  closeLive();
  dispatch({ type: "connection", connection: "gone" });
  abortUploads(session, GONE);
}

function show(session: string, view: View, meters: RateMeter[]): void {
  if (session !== state.value.session) return;
  acceptTrial(view);
  const now_ms = performance.now();
  const source_rates = view.sources.map((source, at) => {
    meters[at] ??= new RateMeter();
    meters[at].add(now_ms, source.bytes_done);
    return meters[at].rate(now_ms);
  });
  dispatch({ type: "view", view, source_rates });
  if (hasLines(view)) endThrottle(session);
}
