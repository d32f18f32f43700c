/** The lines of a selection as a file: from the files of this page, or from the disk of the server. */

import { bytesOfHex } from "../format/hex";
import { count } from "../format/number";
import type { LinesAnswer } from "../generated/LinesAnswer";
import { type FileOf, textsOf } from "../lines/list";
import type { LineReader } from "../lines/reader";
import type { Probe } from "../state/save";

/** The most lines that are saved; their text is kept by the browser, which may use its disk. */
export const LINES_MAX = 1_000_000;

/** Lines that are fetched at once: as many as the server answers. */
const WINDOW = 500;

/** How often lines are read again that changed meanwhile. */
const ATTEMPTS_MAX = 3;

/** The lines as a file, or a sentence that says why there is none. */
export type SavedLines = { file: Blob; lines: number } | { problem: string };

/** Pieces of a file: lines with their ends. */
type Pieces = (string | Uint8Array<ArrayBuffer>)[];

/** Lines that were fetched at once, and the number of all. */
interface Window {
  pieces: Pieces;
  lines: number;
  total: number;
}

const NOT_KEPT =
  "Not all of these lines can be read: save them as CSV or JSON lines, or copy the command";
const NONE = "No line matches the filter";
const CUT = "One of these lines is too long to be shown whole: copy the command instead";
const CHANGING = "The lines change while they are read: copy the command instead";
const STOPPED = "Stopped: nothing was saved";
const LOST = "The connection was lost: nothing was saved";

/** Reads lines, source by source, those of each source in their own order. */
export class LineSaver {
  private isStopped = false;

  constructor(
    private readonly reader: LineReader,
    private readonly fileOf: FileOf,
  ) {}

  /** Reads the first line. */
  async probe(): Promise<Probe> {
    const read = await this.reader.read({ from: 0, count: 1 });
    if (!read?.answer) return { problem: read?.refusal ?? null, sources: null };
    const { total, source_numbers: sources } = read.answer;
    if (total === 0) return { problem: NONE, sources };
    if (total > LINES_MAX) return { problem: tooMany(total), sources };
    const [, problem] = await piecesOf(read.answer, this.fileOf);
    return { problem, sources };
  }

  /** Reads all lines. `progress` receives the share of them that has been read. */
  async read(progress: (share: number) => void): Promise<SavedLines> {
    this.isStopped = false;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const saved = await this.readOnce(progress);
      if (saved !== null) return saved;
    }
    return { problem: CHANGING };
  }

  /** Ends the reading. */
  stop(): void {
    this.isStopped = true;
    this.reader.stop();
  }

  /** Returns `null` if the selection has changed meanwhile. */
  private async readOnce(progress: (share: number) => void): Promise<SavedLines | null> {
    const windows: Blob[] = [];
    let lines = 0;
    let first: Window | null = null;
    do {
      const next: Window | { problem: string } = await this.readWindow(lines);
      if ("problem" in next) return next;
      first ??= next;
      // Lines that were added to a source have moved those of the sources after it.
      if (next.total !== first.total || (next.lines === 0 && lines < next.total)) return null;
      // A blob for each window, because the browser may move it to its disk.
      windows.push(new Blob(next.pieces));
      lines += next.lines;
      progress(lines / Math.max(1, next.total));
    } while (lines < first.total);
    return { file: new Blob(windows, { type: "text/plain" }), lines };
  }

  private async readWindow(from: number): Promise<Window | { problem: string }> {
    const read = await this.reader.read({ from, count: WINDOW });
    if (this.isStopped) return { problem: STOPPED };
    if (!read?.answer) return { problem: read?.refusal ?? LOST };
    const { total, lines } = read.answer;
    if (total > LINES_MAX) return { problem: tooMany(total) };
    const [pieces, problem] = await piecesOf(read.answer, this.fileOf);
    return pieces === null ? { problem } : { pieces, total, lines: lines.length };
  }
}

function tooMany(total: number): string {
  return (
    `These are ${count(total)} lines, and at most ${count(LINES_MAX)} can be saved here: ` +
    "copy the command instead"
  );
}

/** The lines of an answer with their ends, or why there are none. */
async function piecesOf(
  answer: LinesAnswer,
  fileOf: FileOf,
): Promise<[Pieces, null] | [null, string]> {
  const { texts, messages } = await textsOf(answer, fileOf);
  const pieces: Pieces = [];
  for (const [at, line] of answer.lines.entries()) {
    const own = texts.get(at);
    const text = line.text ?? own?.text;
    if (text === undefined || text === null) {
      const why = messages[0] ?? answer.sources.find(({ message }) => message)?.message;
      return [null, why ?? NOT_KEPT];
    }
    if (line.cut ?? own?.isCut) return [null, CUT];
    const bytes = line.text_hex === undefined ? own?.bytes : bytesOfHex(line.text_hex);
    pieces.push(bytes ?? text, "\n");
  }
  return [pieces, null];
}
