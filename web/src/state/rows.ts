/** The progress rows: the uploads of this page and the sources of the server, merged. */

import type { Source } from "../generated/Source";
import type { View } from "../generated/View";
import type { State, Upload, UploadPhase } from "./state";

/** A source of lines on the screen. */
export interface Row {
  key: string;
  /** The id of an upload of this page that can be cancelled. */
  cancellable: string | null;
  /** The id of an upload of this page that can be followed from its end. */
  followable: string | null;
  /** The id of a followed file of this page that can be stopped. */
  stoppable: string | null;
  /** The number of a source that can be removed. */
  removable: number | null;
  name: string;
  phase: UploadPhase;
  bytes_done: number;
  bytes_total: number | null;
  bytes_per_second: number;
  source: Source | null;
  message: string | null;
}

/** Returns the rows in the order in which the sources began. */
export function rowsOf(now: State): Row[] {
  const uploads = now.uploads.filter((upload) => upload.session === now.session);
  const byFile = new Map(uploads.map((upload) => [upload.file, upload]));
  const rows = (now.view?.sources ?? []).map((source, at) => {
    const upload = source.file === "" ? undefined : byFile.get(source.file);
    if (upload) byFile.delete(upload.file);
    return upload ? uploadRow(upload, source) : sourceRow(source, now.source_rates[at] ?? 0);
  });
  for (const upload of byFile.values()) rows.push(uploadRow(upload, null));
  return rows;
}

/**
 * Returns the share of all bytes whose lines are counted in the view with these sources, 0 to 1;
 * `null` if a size is unknown. More bytes may have been sent.
 */
export function shareCounted(sources: Source[]): number | null {
  let done = 0;
  let total = 0;
  for (const source of sources) {
    if (source.bytes_total === null) return null;
    done += source.bytes_done;
    total += isOver(source.state) ? source.bytes_done : source.bytes_total;
  }
  return total === 0 ? null : done / total;
}

/** Whether files are being read, so that each view adds to a picture that is not yet whole. */
export function isGrowing({ sources }: View): boolean {
  return sources.some((source) => source.state === "reading" && source.bytes_total !== null);
}

/** Returns the common phase of all rows that have not ended. */
export function phaseOf(rows: Row[]): "reading" | "following" | "listening" | "orphaned" {
  const active = rows.filter((row) => !isOver(row.phase));
  if (active.length > 0 && active.every((row) => row.phase === "orphaned")) return "orphaned";
  if (active.length === 0 || !active.every(isWaiting)) return "reading";
  return active.some((row) => row.phase === "listening") ? "listening" : "following";
}

/** Whether a source is read to its end and waits for more. */
export function isWaiting({ phase }: Row): boolean {
  return phase === "following" || phase === "listening";
}

/** Whether a source has ended. */
export function isOver(phase: UploadPhase): boolean {
  return phase === "done" || phase === "failed" || phase === "cancelled";
}

function uploadRow(upload: Upload, source: Source | null): Row {
  return {
    key: upload.file,
    cancellable: isOver(upload.phase) || upload.bytes_total === null ? null : upload.file,
    followable: upload.isFollowable && !needsHeader(source) ? upload.file : null,
    stoppable: isOver(upload.phase) || upload.bytes_total !== null ? null : upload.file,
    name: upload.name,
    removable: source?.number ?? null,
    phase: phaseOfUpload(upload, source),
    // As far as the numbers on the screen go, not as far as the file has been sent.
    bytes_done: source?.bytes_done ?? 0,
    bytes_total: upload.bytes_total,
    bytes_per_second: upload.bytes_per_second,
    source,
    message: upload.message ?? source?.message ?? null,
  };
}

/** The server is first to know why an upload stopped, the page everything else. */
function phaseOfUpload(upload: Upload, source: Source | null): UploadPhase {
  if (source?.state === "failed") return "failed";
  // Its last lines are not in the numbers yet.
  const isCounted = source === null || isOver(source.state);
  return upload.phase === "done" && !isCounted ? "reading" : upload.phase;
}

/** Whether lines need the header above them, as those of W3C need `#Fields:`. */
function needsHeader(source: Source | null): boolean {
  return source?.format?.name === "W3C";
}

function sourceRow(source: Source, bytes_per_second: number): Row {
  return {
    key: `source-${source.number}`,
    cancellable: null,
    followable: null,
    stoppable: null,
    // Without its source a listener would take no more lines.
    removable: source.state === "listening" ? null : source.number,
    name: source.name,
    phase: source.state === "interrupted" ? "orphaned" : source.state,
    bytes_done: source.bytes_done,
    bytes_total: source.bytes_total,
    bytes_per_second: isOver(source.state) ? 0 : bytes_per_second,
    source,
    message: source.message,
  };
}

/** Whether a file was not read, or not whole, for a reason that is known. */
export function isFailed({ phase, message }: Row): boolean {
  return phase === "failed" && message !== null;
}
