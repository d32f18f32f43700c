/** The uploads of this page, also of sessions that it no longer shows. */

import { browserHost } from "../socket/host";
import { afterFrame, inNextFrame } from "../state/frame";
import { hasLines, type Upload } from "../state/state";
import { dispatch, state } from "../state/store";
import type { Transfer } from "../upload/transfer";
import type { NamedFile, OpenFile, Uploads } from "../upload/uploads";

/** How often speeds are computed again while no ack arrives. */
const RATE_TICK_MS = 500;

const sessions = new Map<string, Uploads>();

type Sender = typeof Uploads;

/** Loads what sends files: most pages show what the server has already. */
export async function loadSender(): Promise<Sender> {
  return (await import("../upload/uploads")).Uploads;
}

/** Uploads files into a session. */
export async function upload(session: string, files: readonly NamedFile[]): Promise<void> {
  const sender = await loadSender();
  uploadsOf(session, sender).add(files, state.value.follow);
}

/** Cancels a file of the session on the screen. */
export function cancelUpload(file: string): void {
  currentUploads()?.cancel(file);
}

/** Forgets a file that was removed from the session on the screen. */
export function forgetUpload(file: string): void {
  currentUploads()?.forget(file);
  dispatch({ type: "forgotten", file });
}

/** Follows a file that was read to its end. */
export function followUpload(file: string): void {
  void currentUploads()?.follow(file);
}

/** The file of an upload of the session on the screen; `null` if this page does not have it. */
export async function fileOf(file: string): Promise<OpenFile | null> {
  return (await currentUploads()?.fileOf(file)) ?? null;
}

/** Stops following a file. */
export function stopFollowing(file: string): void {
  currentUploads()?.stop(file);
}

/** Chooses whether added files are followed. */
export function chooseFollow(follow: boolean): void {
  dispatch({ type: "follow", follow });
}

/** Whether leaving the page would interrupt an upload. */
export function isUploading(): boolean {
  return [...sessions.values()].some((uploads) => uploads.isBusy);
}

/** Sends whole files after the first lines of the session are painted. */
export function endThrottle(session: string): void {
  afterFrame(() => sessions.get(session)?.endThrottle());
}

/** Ends the uploads of a session that the server no longer has. */
export function abortUploads(session: string, message: string): void {
  sessions.get(session)?.abort(message);
}

/**
 * Ends the uploads of a session whose program was restarted, and forgets them. Returns whether there
 * were any.
 */
export function endUploads(session: string, message: string): boolean {
  abortUploads(session, message);
  sessions.delete(session);
  const ended = state.value.uploads.filter((upload) => upload.session === session);
  for (const { file } of ended) dispatch({ type: "forgotten", file });
  return ended.length > 0;
}

function currentUploads(): Uploads | undefined {
  const { session } = state.value;
  return session === null ? undefined : sessions.get(session);
}

function uploadsOf(session: string, sender: Sender): Uploads {
  const existing = sessions.get(session);
  if (existing) return existing;
  const created = createUploads(session, sender);
  // A hidden page paints nothing.
  if (!document.hidden && !hasLines(state.value.view)) created.beginThrottle();
  sessions.set(session, created);
  return created;
}

function createUploads(session: string, Sender: Sender): Uploads {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (all: readonly Transfer[]) => {
    const draw = () => {
      dispatch({ type: "uploads", uploads: all.map((one) => uploadOf(uploads, one)) });
      clearTimeout(timer);
      // The shown speed falls even if no ack arrives.
      if (uploads.isBusy) timer = setTimeout(show, RATE_TICK_MS, all);
    };
    inNextFrame(`uploads ${session}`, draw, !uploads.isBusy);
  };
  const uploads: Uploads = new Sender(browserHost, session, show);
  return uploads;
}

function uploadOf(uploads: Uploads, transfer: Transfer): Upload {
  return {
    file: transfer.file,
    session: uploads.session,
    name: transfer.name,
    phase: transfer.phase,
    bytes_total: transfer.bytes_total,
    bytes_done: transfer.acked,
    bytes_per_second: uploads.rateOf(transfer),
    message: transfer.message,
    isFollowable: transfer.isFollowable,
  };
}
