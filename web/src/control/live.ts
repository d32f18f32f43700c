/** The live connection of the session on the screen. */

import { browserHost } from "../socket/host";
import { type LiveEvents, LiveSocket } from "../socket/liveSocket";
import type { Question } from "../state/state";
import { dispatch, state } from "../state/store";

/** Upper limit of histogram buckets: three or four pixels each on a usual screen. */
const BUCKETS_MAX = 400;

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

/** Sends a question; without a session it does nothing. */
export function send(question: Question): void {
  if (!socket) return;
  const id = state.value.asked + 1;
  dispatch({ type: "asked", query: id });
  const { kind, hasOverlay, ...others } = question;
  socket.ask({
    id,
    ...others,
    buckets: BUCKETS_MAX,
    ...(kind !== null && { kind }),
    ...(hasOverlay && { overlay: "firewall_event" }),
  });
}
