/** The period over which a speed is measured. */
const SPAN_MS = 3_000;

/** Measures a speed in bytes a second over the last seconds. */
export class RateMeter {
  /** Oldest first; all within `SPAN_MS` except the first. */
  private samples: { at_ms: number; bytes: number }[] = [];

  /** Records that `bytes` were reached at `at_ms`. */
  add(at_ms: number, bytes: number): void {
    this.samples.push({ at_ms, bytes });
    this.forget(at_ms);
  }

  /** Returns the bytes a second up to `now_ms`. It falls while nothing moves. */
  rate(now_ms: number): number {
    this.forget(now_ms);
    const first = this.samples[0];
    const last = this.samples.at(-1);
    if (!first || !last || now_ms <= first.at_ms) return 0;
    return ((last.bytes - first.bytes) * 1000) / (now_ms - first.at_ms);
  }

  private forget(now_ms: number): void {
    while (this.samples.length > 2 && this.samples[1]!.at_ms < now_ms - SPAN_MS)
      this.samples.shift();
  }
}
