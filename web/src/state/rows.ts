/** The progress rows: what this page sends and what the server reads, put together. */

import type { Source } from "../generated/Source";
import type { State, Upload, UploadPhase } from "./state";

/** One source of lines as it is shown. */
export interface Row {
  key: string;
  /** Set where this page sends the file and can still cancel it. */
  cancellable: string | null;
  /** Set where this page read the file and can follow it from its end on. */
  followable: string | null;
  /** Set where this page follows the file and can stop that. */
  stoppable: string | null;
  name: string;
  phase: UploadPhase;
  bytes_done: number;
  bytes_total: number | null;
  bytes_per_second: number;
  source: Source | null;
  message: string | null;
}

/** The rows in the order in which the sources were begun. */
export function rowsOf(now: State): Row[] {
  const uploads = now.uploads.filter((upload) => upload.session === now.session);
  const byFile = new Map(uploads.map((upload) => [upload.file, upload]));
  const rows = (now.view?.sources ?? []).map((source, at) => {
    const upload = source.file === "" ? undefined : byFile.get(source.file);
    if (upload) byFile.delete(upload.file);
    return upload ? uploadRow(upload, source) : sourceRow(source, at, now.source_rates[at] ?? 0);
  });
  for (const upload of byFile.values()) rows.push(uploadRow(upload, null));
  return rows;
}

/** Share of all bytes that is read, 0 to 1; `null` where a size is unknown. */
export function shareRead(rows: Row[]): number | null {
  let done = 0;
  let total = 0;
  for (const row of rows) {
    if (row.bytes_total === null) return null;
    done += row.bytes_done;
    total += isOver(row.phase) ? row.bytes_done : row.bytes_total;
  }
  return total === 0 ? null : done / total;
}

/** What the page says of all rows together, before all are over. */
export function courseOf(rows: Row[]): "reading" | "following" | "listening" {
  const going = rows.filter((row) => !isOver(row.phase));
  if (going.length === 0 || !going.every(isWaiting)) return "reading";
  return going.some((row) => row.phase === "listening") ? "listening" : "following";
}

/** True where all that is there is read, and what comes will be. */
export function isWaiting({ phase }: Row): boolean {
  return phase === "following" || phase === "listening";
}

/** True where no byte will follow. */
export function isOver(phase: UploadPhase): boolean {
  return phase === "done" || phase === "failed" || phase === "cancelled";
}

function uploadRow(upload: Upload, source: Source | null): Row {
  return {
    key: upload.file,
    cancellable: isOver(upload.phase) || upload.bytes_total === null ? null : upload.file,
    followable: upload.isFollowable && !isToldByHead(source) ? upload.file : null,
    stoppable: isOver(upload.phase) || upload.bytes_total !== null ? null : upload.file,
    name: upload.name,
    // The page knows first what it sends; the server knows first why it stopped.
    phase: source?.state === "failed" ? "failed" : upload.phase,
    bytes_done: upload.bytes_done,
    bytes_total: upload.bytes_total,
    bytes_per_second: upload.bytes_per_second,
    source,
    message: upload.message ?? source?.message ?? null,
  };
}

/** True where lines can be read only by what stands above them: W3C's `#Fields:`. */
function isToldByHead(source: Source | null): boolean {
  return source?.format?.name === "W3C";
}

function sourceRow(source: Source, at: number, bytes_per_second: number): Row {
  return {
    key: `source-${at}`,
    cancellable: null,
    followable: null,
    stoppable: null,
    name: source.name,
    phase: source.state,
    bytes_done: source.bytes_done,
    bytes_total: source.bytes_total,
    bytes_per_second: isOver(source.state) ? 0 : bytes_per_second,
    source,
    message: source.message,
  };
}
