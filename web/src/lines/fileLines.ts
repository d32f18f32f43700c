/** Reads lines of a file of this page, by the offsets of their first bytes. */

import type { OpenFile } from "../upload/uploads";

/** The most bytes of a line that are read, which is the limit of the server. */
export const LINE_BYTES_MAX = 64 << 10;

/** Bytes that are read at once; most lines are shorter. */
const READ_BYTES = 4 << 10;

const LINE_FEED = 10;

/** A line of a file. */
export interface FileLine {
  text: string;
  isCut: boolean;
  /** The bytes of `text`, if it had to replace some that are not UTF-8. */
  bytes?: Uint8Array<ArrayBuffer>;
}

/**
 * Reads the lines that begin at these offsets of a source, in ascending order. A line is `null` if
 * none begins there any more: the file has changed.
 */
export async function readLines(
  { blob, base }: OpenFile,
  offsets: readonly number[],
): Promise<(FileLine | null)[]> {
  const lines: (FileLine | null)[] = [];
  let bytes = new Uint8Array();
  let start = 0;
  for (const offset of offsets) {
    const at = base + offset;
    // The byte before shows that a line begins here.
    const from = Math.max(0, at - 1);
    let length = READ_BYTES;
    while (true) {
      if (from >= start && hasLine(bytes, at - start)) break;
      const end = Math.min(blob.size, from + length);
      bytes = new Uint8Array(await blob.slice(from, end).arrayBuffer());
      start = from;
      if (end === blob.size) break;
      length *= 4;
    }
    lines.push(lineAt(bytes, from - start, at - start));
  }
  return lines;
}

/** The offset of the end of the line, if the bytes have it. */
function endOf(bytes: Uint8Array, from: number): number | null {
  const end = from < bytes.length ? bytes.indexOf(LINE_FEED, from) : -1;
  return end < 0 ? null : end;
}

/** Whether the bytes have the line, or more of it than is read. */
function hasLine(bytes: Uint8Array, from: number): boolean {
  return endOf(bytes, from) !== null || bytes.length - from > LINE_BYTES_MAX + 1;
}

function lineAt(bytes: Uint8Array<ArrayBuffer>, before: number, from: number): FileLine | null {
  // NUL bytes before a line, and the mark of UTF-8, are not part of it.
  const mayFollow = before === from || [LINE_FEED, 0, 0xbf].includes(bytes[before] ?? -1);
  if (!mayFollow || from >= bytes.length) return null;
  const end = endOf(bytes, from) ?? bytes.length;
  const last = end > from && bytes[end - 1] === 13 ? end - 1 : end;
  const cut = Math.min(last, from + LINE_BYTES_MAX);
  const text = new TextDecoder().decode(bytes.subarray(from, cut));
  const line = { text, isCut: last > cut };
  return text.includes("\ufffd") ? { ...line, bytes: bytes.slice(from, cut) } : line;
}
