import type { Plan } from "./policy";
import { RateMeter } from "./rate";

export type JobPhase = "waiting" | "reading" | "interrupted" | "done" | "failed" | "cancelled";

/** One file on its way to the server. */
export class Job {
  phase: JobPhase = "waiting";
  message: string | null = null;
  /** Bytes handed to the socket; `acked <= sent <= blob.size`. */
  sent = 0;
  /** Bytes the server has parsed. */
  acked = 0;
  window_bytes = 0;
  /** Where the present connection began. */
  begun_at = 0;
  /** How the last message was sent. */
  plan: Plan | null = null;
  /** True once `end` was sent on the present connection. */
  ended = false;
  private readonly meter = new RateMeter();

  constructor(
    readonly file: string,
    readonly name: string,
    readonly blob: Blob,
  ) {}

  get isOver(): boolean {
    return this.phase === "done" || this.phase === "failed" || this.phase === "cancelled";
  }

  /** The server is ready for the bytes from `offset` on. */
  begin(now_ms: number, offset: number, window_bytes: number): void {
    this.phase = "reading";
    this.sent = offset;
    this.acked = offset;
    this.begun_at = offset;
    this.window_bytes = window_bytes;
    this.ended = false;
    this.meter.add(now_ms, offset);
  }

  /** The server has parsed everything before `offset`. */
  acknowledge(now_ms: number, offset: number): void {
    this.acked = Math.max(this.acked, offset);
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
