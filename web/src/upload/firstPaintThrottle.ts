import type { Host } from "../socket/host";
import { MIB } from "./plan";

/** Bytes sent of each file before the first paint: half a block, some thousand lines. */
export const BYTES_BEFORE_PAINT = MIB / 2;

/** The throttle ends after this time even if nothing was painted. */
export const WAIT_MS_MAX = 200;

/**
 * Holds back all but the beginning of each file until the first picture of a session is painted:
 * reading and parsing the rest would take the CPU cores that the picture needs.
 *
 * It ends with the picture, or on its own a while after the server is ready for bytes. So a
 * picture that does not come, as for a file that begins with many unparsed lines, delays nothing.
 */
export class FirstPaintThrottle {
  private isRunning = false;
  private cancelTimer: (() => void) | null = null;

  constructor(
    private readonly host: Host,
    /** Called when the rest may be sent. */
    private readonly onEnd: () => void,
  ) {}

  get isOver(): boolean {
    return !this.isRunning;
  }

  /** Bytes of each file that may be sent now. */
  get bytes_max(): number {
    return this.isRunning ? BYTES_BEFORE_PAINT : Infinity;
  }

  /** Starts the throttle: nothing is painted yet. */
  begin(): void {
    this.isRunning = true;
  }

  /** Starts the timer: the server is ready for bytes. */
  startTimer(): void {
    if (this.isRunning) this.cancelTimer ??= this.host.later(WAIT_MS_MAX, () => this.end());
  }

  /** Ends the throttle: the picture is painted, or took too long. */
  end(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.cancelTimer?.();
    this.cancelTimer = null;
    this.onEnd();
  }
}
