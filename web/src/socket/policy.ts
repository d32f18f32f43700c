/**
 * How the bytes of a file are cut into messages.
 *
 * Large Blobs with several in flight are what both browsers send fastest; which size is
 * best differs between them.
 */
export interface Policy {
  /** Bytes of one message. */
  message_bytes: number;
  /** Bytes sent and not yet acknowledged, if the server's window allows as many. */
  in_flight_bytes: number;
  /** Files sent at the same time, each on a socket of its own. */
  lanes: number;
}

const MIB = 1 << 20;

export const POLICY: Policy = { message_bytes: 16 * MIB, in_flight_bytes: 64 * MIB, lanes: 2 };

/** Where one file stands. */
export interface Position {
  sent: number;
  acked: number;
  bytes_total: number;
  window_bytes: number;
}

/**
 * Size of the next message; 0 where the window has no room for it.
 *
 * A message is never cut to fit what is left of the window: each ack would then call for
 * a tiny message, and the window would fill with them. A quarter of the window fits at
 * least three times, so the server always has most of a window to get on with.
 */
export function nextMessage(policy: Policy, at: Position): number {
  const window = Math.min(policy.in_flight_bytes, at.window_bytes);
  const whole = Math.max(1, Math.min(policy.message_bytes, Math.floor(window / 4)));
  const size = Math.min(whole, at.bytes_total - at.sent);
  return at.sent - at.acked + size <= window ? size : 0;
}
