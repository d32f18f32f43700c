import type { Failure } from "../generated/Failure";
import type { FormatTrial } from "../generated/FormatTrial";
import type { SessionCreated } from "../generated/SessionCreated";

/** A request that the server refused: its name for programs, and a sentence. */
export class RefusedError extends Error {
  constructor(
    readonly refusal: string,
    message: string,
  ) {
    super(message);
  }
}

/** Creates an empty session and returns its id. */
export async function createSession(): Promise<string> {
  const response = await requested("/api/sessions", "POST");
  return ((await response.json()) as SessionCreated).id;
}

/** Ends a session and frees its memory. One that is already gone is not an error. */
export async function endSession(session: string): Promise<void> {
  await requestedIfThere(`/api/sessions/${session}`);
}

/** Removes a source from a session. One that is already gone is not an error. */
export async function removeSource(session: string, number: number): Promise<void> {
  await requestedIfThere(`/api/sessions/${session}/sources/${number}`);
}

/**
 * Tries a definition on lines of a source, or the one that is suggested if it is empty. Without
 * `lines` the server takes those that it has.
 */
export async function tryFormat(
  session: string,
  number: number,
  definition: string,
  lines: Blob | null,
): Promise<FormatTrial> {
  const response = await requested(formatPath(session, number, definition), "POST", lines);
  return (await response.json()) as FormatTrial;
}

/** Lets the server read a source on its disk again, in another format. */
export async function readAgain(session: string, number: number, definition: string) {
  await requested(formatPath(session, number, definition), "PUT");
}

function formatPath(session: string, number: number, definition: string): string {
  const parameters = new URLSearchParams({ definition });
  return `/api/sessions/${session}/sources/${number}/format?${parameters}`;
}

async function requestedIfThere(path: string): Promise<void> {
  try {
    await requested(path, "DELETE");
  } catch (error) {
    const isGone =
      error instanceof RefusedError &&
      ["unknown_session", "unknown_source"].includes(error.refusal);
    if (!isGone) throw error;
  }
}

type Method = "POST" | "PUT" | "DELETE";

async function requested(path: string, method: Method, body: Blob | null = null) {
  const response = await answered(path, method, body);
  if (!response.ok) throw await refusalOf(response);
  return response;
}

async function answered(path: string, method: Method, body: Blob | null): Promise<Response> {
  try {
    return await fetch(path, { method, body });
  } catch {
    throw new Error("Weir does not answer. It may have been stopped.");
  }
}

/** What the server says of a session. */
export type Presence =
  | "there"
  /** The server does not have it, or no longer. */
  | "gone"
  /** The server asks for another access token than the page has. */
  | "locked"
  /** Weir does not answer, or is being stopped; a proxy in front of it may answer instead. */
  | "unknown";

const GONE = ["unknown_session", "session_displaced", "session_ended"];

/**
 * Finds out whether a session exists. It asks over HTTP, because the page cannot see why a WebSocket
 * handshake was refused.
 */
export async function presenceOf(session: string): Promise<Presence> {
  try {
    const response = await fetch(`/api/sessions/${session}`);
    if (response.ok) return "there";
    const { refusal } = await refusalOf(response);
    if (GONE.includes(refusal)) return "gone";
    return refusal === "no_token" ? "locked" : "unknown";
  } catch {
    return "unknown";
  }
}

async function refusalOf(response: Response): Promise<RefusedError> {
  try {
    // The name is `error` in the body of a response.
    const { error, message } = (await response.json()) as Failure & { error: string };
    return new RefusedError(error, message);
  } catch {
    return new RefusedError("", `The server answered ${response.status}.`);
  }
}
