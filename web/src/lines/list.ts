/** The lines of one selection: those that were fetched, and what is known about all of them. */

import type { LineOrder } from "../generated/LineOrder";
import type { LineSource } from "../generated/LineSource";
import type { LinesAnswer } from "../generated/LinesAnswer";
import type { SelectedLine } from "../generated/SelectedLine";
import { type Lines, NO_LINES } from "../state/lines";
import type { OpenFile } from "../upload/uploads";
import { readLines } from "./fileLines";
import type { LineReader, WantedLines } from "./reader";
import { keptAround, missingFrom, type ShownLine, WINDOW } from "./shown";

/** Where a list keeps what is known of its lines. */
export interface LinesPlace {
  read(): Lines;
  write(lines: Lines): void;
}

/** Returns a file of the page by its id; `null` if the page does not have it. */
export type FileOf = (file: string) => Promise<OpenFile | null>;

const NOT_HERE =
  "is not on this page any more: it was reloaded. Add the file again to see its lines";
const CHANGED = "has changed since it was read";

/** The lines of the selection that the reader asks about. */
export class LineList {
  /** The lines that the screen shows. */
  private wanted = { first: 0, end: WINDOW };
  private isReading = false;

  constructor(
    private readonly reader: LineReader,
    private readonly fileOf: FileOf,
    private readonly place: LinesPlace,
    private readonly orderOf: () => LineOrder = () => "source",
  ) {}

  /** Begins a new selection. */
  restart(): void {
    const { total, selection } = this.place.read();
    // The old total stays, so that the list does not vanish meanwhile.
    this.place.write({ ...NO_LINES, total, selection: selection + 1 });
    this.wanted = { first: 0, end: WINDOW };
    this.refresh();
  }

  /**
   * Fetches the lines on the screen again: there may be more. A list that was scrolled holds still:
   * its first line on the screen stays there, whatever comes before it.
   */
  refresh(): void {
    this.reader.stop();
    const { first } = this.wanted;
    const held = first > 0 ? this.place.read().shown.get(first)?.line : undefined;
    if (held === undefined) void this.fetch(first - (first % WINDOW), true);
    else void this.fetchAround(held, first);
  }

  /** Cancels the current question and forgets all lines. */
  close(): void {
    this.reader.stop();
    this.place.write({ ...NO_LINES, selection: this.place.read().selection });
  }

  /** Fetches the lines from `first` to `end` if they are not there. */
  show(first: number, end: number): void {
    this.wanted = { first, end };
    if (!this.isReading) this.fetchMissing();
  }

  private fetchMissing(): void {
    const { total, shown, refusal } = this.place.read();
    if (total === null || refusal !== null) return;
    const { first, end } = this.wanted;
    const from = missingFrom(shown, first, Math.min(end, total));
    if (from !== null) void this.fetch(from, false);
  }

  private async fetch(from: number, isNew: boolean): Promise<void> {
    const answer = await this.ask({ from, count: WINDOW });
    if (answer === null) return;
    this.take(answer, isNew, 0);
    await this.readFiles(answer);
    if (!this.isReading) this.fetchMissing();
  }

  /** Fetches the lines around one that was at a number, and moves the list with it. */
  private async fetchAround(held: SelectedLine, number: number): Promise<void> {
    const { source, offset } = held;
    const answer = await this.ask({ from: 0, count: WINDOW, around: { source, offset } });
    if (answer === null) return;
    const at = answer.lines.findIndex((one) => one.source === source && one.offset === offset);
    const moved = at < 0 ? 0 : answer.from + at - number;
    this.wanted = { first: this.wanted.first + moved, end: this.wanted.end + moved };
    this.take(answer, true, moved);
    await this.readFiles(answer);
    if (!this.isReading) this.fetchMissing();
  }

  /** Asks for lines; `null` if another question came first, or if the server refuses. */
  private async ask(wanted: WantedLines): Promise<LinesAnswer | null> {
    this.isReading = true;
    const read = await this.reader.read({ ...wanted, order: this.orderOf() });
    // A newer question has replaced this one.
    if (read === null) return null;
    this.isReading = false;
    if (read.answer !== null) return read.answer;
    const { selection } = this.place.read();
    this.place.write({ ...NO_LINES, selection, refusal: read.refusal });
    return null;
  }

  private take(answer: LinesAnswer, isNew: boolean, moved: number): void {
    const before = this.place.read();
    // Lines that were added to a source move those of the sources after it.
    const isSame = !isNew && before.total === answer.total;
    const shown = isSame ? keptAround(before.shown, answer.from) : new Map<number, ShownLine>();
    for (const [at, line] of answer.lines.entries()) {
      const { text = null, cut = false } = line;
      shown.set(answer.from + at, { line, text, isCut: cut });
    }
    const messages = isSame ? before.messages : [];
    this.place.write({
      selection: before.selection,
      moved: before.moved + moved,
      total: answer.total,
      shown,
      messages: joined(
        messages,
        answer.sources.flatMap(({ message }) => message ?? []),
      ),
      sources: answer.source_numbers,
      isEstimated: answer.estimated ?? false,
      refusal: null,
    });
  }

  /** Adds the texts of lines whose files are on this page. */
  private async readFiles(answer: LinesAnswer): Promise<void> {
    const { texts, messages } = await textsOf(answer, this.fileOf);
    if (texts.size === 0 && messages.length === 0) return;
    const before = this.place.read();
    const shown = new Map(before.shown);
    for (const [at, shownLine] of texts) {
      const number = answer.from + at;
      // The selection may have changed meanwhile.
      if (shown.get(number)?.line === shownLine.line) shown.set(number, shownLine);
    }
    this.place.write({ ...before, shown, messages: joined(before.messages, messages) });
  }
}

/** The texts of the lines of an answer that this page can read, by their places in the answer. */
export async function textsOf(
  { lines, sources }: LinesAnswer,
  fileOf: FileOf,
): Promise<{ texts: Map<number, ShownLine>; messages: string[] }> {
  const texts = new Map<number, ShownLine>();
  const messages: string[] = [];
  for (const source of sources) {
    if (source.access !== "page") continue;
    const own = [...lines.entries()]
      .filter(([, line]) => line.source === source.number)
      .sort(([, one], [, other]) => one.offset - other.offset);
    const found = await linesOf(source, own, fileOf).catch(() => null);
    if (typeof found === "string") messages.push(`${source.name} ${found}`);
    else if (found === null) messages.push(`${source.name} ${CHANGED}`);
    else for (const [at, line] of found) texts.set(at, line);
  }
  return { texts, messages };
}

/** The texts of the lines of one source, or why there are none. */
async function linesOf(
  source: LineSource,
  lines: [number, SelectedLine][],
  fileOf: FileOf,
): Promise<Map<number, ShownLine> | string> {
  const file = await fileOf(source.file);
  if (file === null) return NOT_HERE;
  const read = await readLines(
    file,
    lines.map(([, { offset }]) => offset),
  );
  const found = new Map<number, ShownLine>();
  for (const [index, [at, line]] of lines.entries()) {
    const text = read[index];
    if (!text || !shows(line, text.text)) return CHANGED;
    found.set(at, { line, ...text });
  }
  return found;
}

/** Whether a text can be the line of a record: it has to contain the client's address, if any. */
function shows({ client }: SelectedLine, text: string): boolean {
  if (!client || !/^[\d.]+$|^[\da-f:.]*:[\da-f:.]+$/i.test(client)) return true;
  return text.includes(client) || hasAddress(text, client);
}

/** Whether a text contains an address in another spelling, which only IPv6 has. */
function hasAddress(text: string, address: string): boolean {
  const wanted = spelling(address.includes(":") ? address : `::ffff:${address}`);
  const parts = text.match(/[\da-f:.]*:[\da-f:.]*/gi) ?? [];
  return parts.some((part) => spelling(part.replace(/([^:]):$/, "$1")) === wanted);
}

/** The one spelling of an IPv6 address; the text itself if it is none. */
function spelling(address: string): string {
  const url = `http://[${address}]`;
  return URL.canParse(url) ? new URL(url).hostname : address;
}

function joined(before: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...before, ...more])];
}
