import { canGrow, type Handle } from "./growing";
import type { Plan } from "./policy";
import { RateMeter } from "./rate";

export type JobPhase =
  | "waiting"
  | "reading"
  | "following"
  | "interrupted"
  | "done"
  | "failed"
  | "cancelled";

/** Something on its way to the server, as it is shown. */
export interface Sending {
  readonly file: string;
  readonly name: string;
  /** `null` where it goes on growing. */
  readonly bytes_total: number | null;
  readonly phase: JobPhase;
  readonly message: string | null;
  readonly sent: number;
  readonly acked: number;
  readonly isOver: boolean;
  /** True where it can be followed from its end on. */
  readonly isFollowable: boolean;
  /** How the last message was sent. */
  readonly plan: Plan | null;
  rate(now_ms: number): number;
}

/** One file on its way to the server. */
export class Job implements Sending {
  phase: JobPhase = "waiting";
  message: string | null = null;
  /** Bytes handed to the socket; `acked <= sent <= blob.size`. */
  sent = 0;
  /** Bytes the server has parsed. */
  acked = 0;
  window_bytes = 0;
  /** How the last message was sent. */
  plan: Plan | null = null;
  /** True once `end` was sent on the present connection. */
  ended = false;
  /** What shows the file as it is later on, where and when the browser gives that. */
  handle: Handle | null = null;
  /** It is followed from its end on. */
  isFollowed = false;
  private meter = new RateMeter();

  constructor(
    readonly file: string,
    readonly name: string,
    readonly blob: Blob,
  ) {}

  get bytes_total(): number {
    return this.blob.size;
  }

  get isFollowable(): boolean {
    return this.handle !== null && this.phase === "done" && !this.isFollowed && canGrow(this.name);
  }

  get isOver(): boolean {
    return this.phase === "done" || this.phase === "failed" || this.phase === "cancelled";
  }

  /** The server is ready for the bytes from `offset` on. */
  begin(now_ms: number, offset: number, window_bytes: number): void {
    this.phase = "reading";
    this.sent = offset;
    this.acked = offset;
    this.window_bytes = window_bytes;
    this.ended = false;
    this.meter.add(now_ms, offset);
  }

  /** The server has parsed everything before `offset`. */
  acknowledge(now_ms: number, offset: number): void {
    this.acked = Math.max(this.acked, offset);
    this.meter.add(now_ms, this.acked);
  }

  /** The speed is that from here on. */
  restartRate(now_ms: number): void {
    this.meter = new RateMeter();
    this.meter.add(now_ms, this.acked);
  }

  /** Bytes a second over the last seconds; 0 when nothing moves. */
  rate(now_ms: number): number {
    return this.phase === "reading" ? this.meter.rate(now_ms) : 0;
  }

  finish(phase: "done" | "failed" | "cancelled", message: string | null = null): void {
    this.phase = phase;
    this.message = message;
  }
}
