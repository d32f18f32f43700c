import { RateMeter } from "../socket/rate";
import type { TailFingerprint } from "./tailFingerprint";
import { isOver, type Transfer, type TransferPhase } from "./transfer";

/** Where following begins. */
export interface FollowStart {
  /** In bytes of the file. */
  offset: number;
  /** The bytes before `offset`, if they are known. */
  fingerprint: TailFingerprint | null;
  /** The id of the source that was read before, whose format the lines have. */
  continues: string | null;
}

/** The transfer of a growing file between two truncations: a source of its own. */
export class FollowTransfer implements Transfer {
  readonly bytes_total = null;
  readonly isFollowable = false;
  readonly plan = null;
  phase: TransferPhase = "waiting";
  message: string | null = null;
  /** Bytes handed to the socket; the first of them is at `start.offset` of the file. */
  sent = 0;
  acked = 0;
  window_bytes = 0;
  /** Whether `end` was sent on the current connection. */
  isEndSent = false;
  /** Whether the file was truncated or replaced. */
  isReplaced = false;
  private readonly meter = new RateMeter();

  constructor(
    readonly file: string,
    readonly name: string,
    readonly start: FollowStart,
  ) {}

  get isOver(): boolean {
    return isOver(this.phase);
  }

  /** Offset of the next byte in the file. */
  get offset(): number {
    return this.start.offset + this.sent;
  }

  /** Bytes that the server's window has room for. */
  get room(): number {
    return this.window_bytes - (this.sent - this.acked);
  }

  /** Starts over at `offset`, in bytes after `start.offset`. Bytes in flight are sent again. */
  begin(offset: number, window_bytes: number): void {
    this.sent = offset;
    this.window_bytes = window_bytes;
    this.phase = "reading";
    this.isEndSent = false;
  }

  /** Records that the server has parsed every byte before `offset`. */
  acknowledge(now_ms: number, offset: number): void {
    this.acked = Math.max(this.acked, offset);
    this.meter.add(now_ms, this.acked);
  }

  rate(now_ms: number): number {
    return this.phase === "reading" ? this.meter.rate(now_ms) : 0;
  }
}
