import type { Host } from "./host";
import { MIB } from "./policy";

/** What is sent of each file before the first picture: half a block, some thousand lines. */
export const OPENING_BYTES = MIB / 2;

/** A picture that is not there by then is not waited for any longer. */
export const OPENING_MS_MAX = 200;

/**
 * The time until the first picture of a session, in which only the beginnings of its files are
 * sent: reading and parsing the rest would take the cores that the picture needs.
 *
 * It ends with the picture, or by itself a while after the server takes bytes, so that nothing waits
 * for a picture that does not come, such as that of a file whose first lines are far inside it.
 */
export class Opening {
  private isRunning = false;
  private calledOff: (() => void) | null = null;

  constructor(
    private readonly host: Host,
    /** The rest can be sent. */
    private readonly ended: () => void,
  ) {}

  get isOver(): boolean {
    return !this.isRunning;
  }

  /** Bytes of a file that may be sent by now. */
  get bytes_max(): number {
    return this.isRunning ? OPENING_BYTES : Infinity;
  }

  /** There is no picture yet. */
  begin(): void {
    this.isRunning = true;
  }

  /** The server takes bytes by now: from here on time counts. */
  note(): void {
    if (this.isRunning) this.calledOff ??= this.host.later(OPENING_MS_MAX, () => this.end());
  }

  /** The picture is there, or nobody waits for one. */
  end(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    this.calledOff?.();
    this.calledOff = null;
    this.ended();
  }
}
