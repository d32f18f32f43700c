import type { Failure } from "../generated/Failure";
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

async function requested(path: string, method: "POST" | "DELETE"): Promise<Response> {
  const response = await answered(path, method);
  if (!response.ok) throw await refusalOf(response);
  return response;
}

async function answered(path: string, method: string): Promise<Response> {
  try {
    return await fetch(path, { method });
  } catch {
    throw new Error("Weir does not answer. It may have been stopped.");
  }
}

/**
 * Returns whether a session exists, or `null` if the server does not answer. It asks over HTTP,
 * because the page cannot see why a WebSocket handshake was refused.
 */
export async function sessionExists(session: string): Promise<boolean | null> {
  try {
    const response = await fetch(`/s/${session}`, { method: "HEAD" });
    return response.status !== 404;
  } catch {
    return null;
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
