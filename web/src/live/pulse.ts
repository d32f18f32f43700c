/** How fast lines come now, and which sources have fallen silent. */

/** The part of a source that is looked at. */
export interface LiveSource {
  number: number;
  name: string;
  /** Whether more lines may come. */
  isOpen: boolean;
  lines: number;
}

/** A source from which nothing comes any more, although it did. */
export interface Silence {
  name: string;
  seconds: number;
}

/** The time over which the rate is measured. */
const SPAN_MS = 10_000;

/** A source is not silent before this time. */
const SILENT_MS = 60_000;

/** Nor before so many times its mean distance between two lines. */
const SILENT_GAPS = 20;

interface Track {
  name: string;
  isOpen: boolean;
  /** When it was seen first, and when it grew last. */
  seen_ms: number;
  grew_ms: number;
  lines_first: number;
  lines: number;
}

/** Watches how the sources of a data set grow. */
export class Pulse {
  private readonly tracks = new Map<number, Track>();
  /** Oldest first; all within `SPAN_MS` except the first. */
  private samples: { at_ms: number; lines: number }[] = [];

  /** Notes the sources at a time. */
  note(at_ms: number, sources: readonly LiveSource[]): void {
    let lines = 0;
    for (const source of sources) {
      lines += source.lines;
      const track = this.tracks.get(source.number);
      if (track === undefined) {
        const seen = { seen_ms: at_ms, grew_ms: at_ms, lines_first: source.lines };
        this.tracks.set(source.number, { ...source, ...seen });
      } else {
        const grew_ms = source.lines > track.lines ? at_ms : track.grew_ms;
        Object.assign(track, source, { grew_ms });
      }
    }
    this.samples.push({ at_ms, lines });
    this.forget(at_ms);
  }

  /** The lines a second over the last seconds. It falls while nothing comes. */
  perSecond(now_ms: number): number {
    this.forget(now_ms);
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    if (!first || !last || now_ms - first.at_ms < 1_000) return 0;
    return (Math.max(0, last.lines - first.lines) * 1000) / (now_ms - first.at_ms);
  }

  /** The sources that have fallen silent while they were watched, the longest silence first. */
  silent(now_ms: number): Silence[] {
    const found: Silence[] = [];
    for (const { name, isOpen, seen_ms, grew_ms, lines_first, lines } of this.tracks.values()) {
      // Nothing is known of a source that has never grown.
      if (!isOpen || lines === lines_first) continue;
      const gap_ms = (grew_ms - seen_ms) / (lines - lines_first);
      const silence_ms = now_ms - grew_ms;
      if (silence_ms < Math.max(SILENT_MS, SILENT_GAPS * gap_ms)) continue;
      found.push({ name, seconds: Math.floor(silence_ms / 1000) });
    }
    return found.sort((one, other) => other.seconds - one.seconds);
  }

  private forget(now_ms: number): void {
    while (this.samples.length > 1 && this.samples[1]!.at_ms <= now_ms - SPAN_MS)
      this.samples.shift();
  }
}
