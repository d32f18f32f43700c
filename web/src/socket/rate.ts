/** How far back a speed looks. */
const SPAN_MS = 3_000;

/** Speed of something that moves forward, over the last seconds. */
export class RateMeter {
  /** Oldest first; all within `SPAN_MS` but the first, which closes the span. */
  private marks: { at_ms: number; bytes: number }[] = [];

  /** Notes that `bytes` were reached at `at_ms`. */
  add(at_ms: number, bytes: number): void {
    this.marks.push({ at_ms, bytes });
    this.forget(at_ms);
  }

  /** Bytes a second up to `now_ms`. A standstill lowers it as time goes by. */
  rate(now_ms: number): number {
    this.forget(now_ms);
    const first = this.marks[0];
    const last = this.marks.at(-1);
    if (!first || !last || now_ms <= first.at_ms) return 0;
    return ((last.bytes - first.bytes) * 1000) / (now_ms - first.at_ms);
  }

  private forget(now_ms: number): void {
    while (this.marks.length > 2 && this.marks[1]!.at_ms < now_ms - SPAN_MS) this.marks.shift();
  }
}
