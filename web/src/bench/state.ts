/** The state of the measuring page, and the only place that changes it. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { rate } from "../format/bytes";
import { inNextFrame } from "../state/frame";
import { BYTES_MAX, measure, type Progress, WAYS, type Way } from "./measure";

export interface Result extends Progress {
  isOver: boolean;
}

export interface Bench {
  /** The name of the file. */
  name: string | null;
  bytes_total: number;
  results: Partial<Record<Way, Result>>;
  isRunning: boolean;
  /** Why it ended early. */
  failure: string | null;
}

const current = signal<Bench>({
  name: null,
  bytes_total: 0,
  results: {},
  isRunning: false,
  failure: null,
});

export const bench: ReadonlySignal<Bench> = current;

/** Measures every way with a file. Does nothing while a measurement is running. */
export async function start(name: string, whole: Blob): Promise<void> {
  if (current.value.isRunning) return;
  const file = whole.size > BYTES_MAX ? whole.slice(0, BYTES_MAX) : whole;
  current.value = { name, bytes_total: file.size, results: {}, isRunning: true, failure: null };
  try {
    if (file.size === 0) throw new Error("The file is empty; there is nothing to measure.");
    for (const way of WAYS) {
      let last: Progress | null = null;
      await measure(way, file, (progress) => {
        last = progress;
        // Drawing each ack would slow down the upload.
        inNextFrame("bench", () => note(way, { ...progress, isOver: false }));
      });
      inNextFrame("bench", () => {});
      if (last) note(way, { ...(last as Progress), isOver: true });
    }
  } catch (error) {
    current.value = {
      ...current.value,
      failure: error instanceof Error ? error.message : String(error),
    };
  }
  current.value = { ...current.value, isRunning: false };
}

function note(way: Way, result: Result): void {
  current.value = { ...current.value, results: { ...current.value.results, [way]: result } };
}

/** Bytes a second of a way so far. */
export function speed({ bytes_done, elapsed_ms }: Progress): number {
  return elapsed_ms > 0 ? (bytes_done * 1000) / elapsed_ms : 0;
}

/** The result in one sentence; `null` before there is one. */
export function verdict({ results }: Bench): string | null {
  const { read, plain, discarded, parsed } = results;
  if (!read || !plain || !discarded || !parsed?.isOver) return null;
  const times = speed(discarded) / speed(plain);
  const compared =
    times >= 1.05
      ? `${times.toFixed(1)} times as fast as the plain way`
      : times > 0.95
        ? "as fast as the plain way"
        : `slower than the plain way, at ${times.toFixed(2)} times its speed`;
  const share = Math.round((speed(discarded) / speed(read)) * 100);
  const limit =
    share < 100
      ? `at ${share} % of the speed at which it reads the file`
      : "faster than it reads the file slice by slice";
  return (
    `This browser uploads ${rate(speed(discarded))}: ${compared}, and ${limit}. ` +
    `With every line parsed it is ${rate(speed(parsed))}.`
  );
}
