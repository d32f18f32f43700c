/** Waiting for one request. */

import type { Capture } from "../../generated/Capture";
import { ask } from "../ask";
import { update } from "../store";
import { waitFor } from "../waiting";

/** What can be waited for: its words, and how its condition is named if it has one. */
export interface CaptureKind {
  name: string;
  words: string;
  condition?: { label: string; placeholder: string };
}

export const KINDS: readonly CaptureKind[] = [
  {
    name: "request",
    words: "request of the gateway",
    condition: { label: "that meets", placeholder: "status>=500 and path^=/api" },
  },
  { name: "tunnel", words: "tunnel of the gateway" },
  {
    name: "call",
    words: "call of the gateway",
    condition: { label: "whose name contains", placeholder: "key set" },
  },
  { name: "page", words: "request of the page" },
  { name: "upload", words: "upload" },
  { name: "feed", words: "feed" },
];

let stopping: AbortController | null = null;

/** Waits for the next request of a form. The one before disappears: it could be taken for it. */
export async function waitForRequest(form: FormData): Promise<void> {
  const kind = String(form.get("kind"));
  const seconds = Number(form.get("seconds"));
  const parameters = new URLSearchParams({ kind, seconds: String(seconds) });
  const condition = String(form.get("condition") ?? "").trim();
  if (condition !== "") parameters.set("condition", condition);
  const own = new AbortController();
  stopping = own;
  update("capture", { answer: null });
  await waitFor(
    seconds,
    (waiting) => update("capture", waiting),
    async () => {
      update("capture", { message: "waiting" });
      const response = await ask(`/glass.json?${parameters}`, { signal: own.signal });
      update("capture", { answer: (await response.json()) as Capture });
      return "";
    },
  );
}

/** Stops waiting. */
export function stopWaiting(): void {
  stopping?.abort();
}
