import type { Failure } from "../generated/Failure";
import type { SessionCreated } from "../generated/SessionCreated";

/** Makes an empty session and gives back its id. */
export async function createSession(): Promise<string> {
  const response = await fetch("/api/sessions", { method: "POST" });
  if (!response.ok) throw new Error(await refusalText(response));
  return ((await response.json()) as SessionCreated).id;
}

/**
 * Asks over HTTP whether a session exists: a refused WebSocket handshake does not tell the
 * page why. `null` where the server does not answer at all.
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
