import { RateMeter } from "../socket/rate";
import { canGrow, type FileHandle } from "./fileHandle";
import type { Plan } from "./plan";

export type TransferPhase =
  | "waiting"
  | "reading"
  | "following"
  | "interrupted"
  | "done"
  | "failed"
  | "cancelled";

/** A file on its way to the server, as the page shows it. */
export interface Transfer {
  /** The file's id in the session. */
  readonly file: string;
  readonly name: string;
  /** `null` if the file keeps growing. */
  readonly bytes_total: number | null;
  readonly phase: TransferPhase;
  readonly message: string | null;
  readonly sent: number;
  readonly acked: number;
  readonly isOver: boolean;
  /** Whether the file can be followed from its end. */
  readonly isFollowable: boolean;
  /** How the last message was sent. */
  readonly plan: Plan | null;
  rate(now_ms: number): number;
}

/** The transfer of a file whose size is known. */
export class FileTransfer implements Transfer {
  phase: TransferPhase = "waiting";
  message: string | null = null;
  /** Bytes handed to the socket; `acked <= sent <= blob.size`. */
  sent = 0;
  /** Bytes that the server has parsed. */
  acked = 0;
  window_bytes = 0;
  /** How the last message was sent. */
  plan: Plan | null = null;
  /** Whether `end` was sent on the current connection. */
  isEndSent = false;
  /** The handle, which returns the file as it is later; `null` unless the browser has provided it. */
  handle: FileHandle | null = null;
  /** The format of its lines, if it should not be detected. */
  format: string | null = null;
  /** Whether a `Follower` has taken over at the file's end. */
  isFollowed = false;
  private meter = new RateMeter();

  constructor(
    readonly file: string,
    readonly name: string,
    readonly blob: Blob,
    /** The text by which the file is recognised later; `null` if it could not be read. */
    readonly fingerprint: string | null = null,
    /** The replay for which the file is sent again. */
    readonly replay?: string,
  ) {}

  get bytes_total(): number {
    return this.blob.size;
  }

  get isFollowable(): boolean {
    return this.handle !== null && this.phase === "done" && !this.isFollowed && canGrow(this.name);
  }

  get isOver(): boolean {
    return isOver(this.phase);
  }

  /** Starts over at `offset`, from which the server is ready to read. */
  begin(now_ms: number, offset: number, window_bytes: number): void {
    this.phase = "reading";
    this.sent = offset;
    this.acked = offset;
    this.window_bytes = window_bytes;
    this.isEndSent = false;
    this.meter.add(now_ms, offset);
  }

  /** Records that the server has parsed every byte before `offset`. */
  acknowledge(now_ms: number, offset: number): void {
    this.acked = Math.max(this.acked, offset);
    this.meter.add(now_ms, this.acked);
  }

  /** Measures the speed from now on only. */
  restartRate(now_ms: number): void {
    this.meter = new RateMeter();
    this.meter.add(now_ms, this.acked);
  }

  /** Bytes a second over the last seconds; 0 if the file is not being read. */
  rate(now_ms: number): number {
    return this.phase === "reading" ? this.meter.rate(now_ms) : 0;
  }

  finish(phase: "done" | "failed" | "cancelled", message: string | null = null): void {
    this.phase = phase;
    this.message = message;
  }
}

/** Whether a transfer in this phase has ended. */
export function isOver(phase: TransferPhase): boolean {
  return phase === "done" || phase === "failed" || phase === "cancelled";
}
