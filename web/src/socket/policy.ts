/**
 * How the bytes of a file are cut into messages.
 *
 * Large Blobs with several in flight are what both browsers send fastest; which size is
 * best, and whether a second socket helps, differs between browsers, machines and moments, so
 * it is measured (`chooser.ts`).
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

/** The first is what is begun with. */
export const PLANS: readonly Plan[] = [
  { message_bytes: 32 * MIB, in_flight: 2, sockets: 1 },
  { message_bytes: 16 * MIB, in_flight: 4, sockets: 1 },
  { message_bytes: 4 * MIB, in_flight: 4, sockets: 1 },
  { message_bytes: 16 * MIB, in_flight: 4, sockets: 2 },
];

/** Files sent at the same time, each on a connection of its own. */
export const LANES = 2;

/**
 * No more is in flight than gets through in this time, beyond two small messages: what was
 * given to the socket cannot be called back.
 */
const QUEUE_S = 1;
/** In flight as long as no speed is known. */
const QUEUE_BYTES_MIN = 4 * MIB;

/** Where one file stands. */
export interface Position {
  sent: number;
  acked: number;
  bytes_total: number;
  window_bytes: number;
  bytes_per_second: number;
}

/**
 * Size of the next message; 0 where the window has no room for it.
 *
 * A message is never cut to fit what is left of the window: each ack would then call for
 * a tiny message, and the window would fill with them. Half of the window fits twice, so the
 * server has one message to get on with while the next is fetched.
 */
export function nextMessage(plan: Plan, at: Position): number {
  const queue = Math.max(QUEUE_BYTES_MIN, at.bytes_per_second * QUEUE_S);
  const window = Math.min(plan.message_bytes * plan.in_flight, at.window_bytes, queue);
  const whole = Math.max(1, Math.min(plan.message_bytes, Math.floor(window / 2)));
  const size = Math.min(whole, at.bytes_total - at.sent);
  return at.sent - at.acked + size <= window ? size : 0;
}
