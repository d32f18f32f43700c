/**
 * How the bytes of a file are cut into messages.
 *
 * Large Blobs with several in flight are the fastest in both browsers. Which size is best, and
 * whether a second connection helps, differs between browsers, machines and moments, so it is
 * measured (`planTuner.ts`).
 */
export interface Plan {
  /** Bytes of one message. */
  message_bytes: number;
  /** Messages sent and not yet acknowledged, if the server's window allows as many. */
  in_flight: number;
  /** Connections that share the file. */
  sockets: 1 | 2;
}

export const MIB = 1 << 20;

/** The first plan is used until another one has been measured. */
export const PLANS: readonly Plan[] = [
  { message_bytes: 32 * MIB, in_flight: 2, sockets: 1 },
  { message_bytes: 16 * MIB, in_flight: 4, sockets: 1 },
  { message_bytes: 4 * MIB, in_flight: 4, sockets: 1 },
  { message_bytes: 16 * MIB, in_flight: 4, sockets: 2 },
];

/** Files sent at the same time, each on a connection of its own. */
export const CONNECTIONS = 2;

/**
 * At most this many seconds of data are in flight, beyond two small messages: data that was
 * handed to the socket cannot be withdrawn.
 */
const QUEUE_S = 1;
/** Bytes in flight while the speed is unknown. */
const QUEUE_BYTES_MIN = 4 * MIB;

/** The progress of one file. */
export interface Position {
  sent: number;
  acked: number;
  bytes_total: number;
  window_bytes: number;
  bytes_per_second: number;
}

/**
 * Returns the size of the next message, or 0 if the window has no room for it.
 *
 * A message is never cut to fit the rest of the window: each ack would then trigger a tiny
 * message, and the window would fill with them. A message is at most half of the window, so that
 * the server can work on one while the next is on its way.
 */
export function nextMessageSize(plan: Plan, at: Position): number {
  const queue = Math.max(QUEUE_BYTES_MIN, at.bytes_per_second * QUEUE_S);
  const window = Math.min(plan.message_bytes * plan.in_flight, at.window_bytes, queue);
  const whole = Math.max(1, Math.min(plan.message_bytes, Math.floor(window / 2)));
  const size = Math.min(whole, at.bytes_total - at.sent);
  return at.sent - at.acked + size <= window ? size : 0;
}
