import type { Failure } from "../generated/Failure";
import type { SessionCreated } from "../generated/SessionCreated";

/** Creates an empty session and returns its id. */
export async function createSession(): Promise<string> {
  const response = await fetch("/api/sessions", { method: "POST" });
  if (!response.ok) throw new Error(await refusalText(response));
  return ((await response.json()) as SessionCreated).id;
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

async function refusalText(response: Response): Promise<string> {
  try {
    return ((await response.json()) as Failure).message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}
