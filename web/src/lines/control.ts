/** The actions of a person in the panel of lines, and what fetches its lines. */

import { computed, effect, type ReadonlySignal } from "@preact/signals";
import { askLines } from "../control/live";
import { fileOf } from "../control/uploads";
import type { LineOrder } from "../generated/LineOrder";
import type { Source } from "../generated/Source";
import type { Lines, ListName } from "../state/lines";
import type { Question } from "../state/state";
import { dispatch, lines as slice, state, tab, view } from "../state/store";
import { copyText } from "../views/copy";
import { grepCommand, type Selection } from "./command";
import { LineList, type LinesPlace, textsOf } from "./list";
import { type Ask, LineReader, type LinesReply } from "./reader";

/** The most lines that are copied at once: some MB. */
export const COPIED_MAX = 10_000;

/** Lines that are fetched at once to be copied. */
const COPY_WINDOW = 500;

/** The time between two answers while the data grows. */
const REFRESH_MS = 1_000;

/** The part of the data set whose lines are listed. */
type QuestionOf = () => Question | null;

/** A list of lines, and the actions on it. */
export class LinePanel {
  readonly list: LineList;
  /** What is known of the lines. */
  readonly lines: ReadonlySignal<Lines>;
  private readonly reader: LineReader;
  private readonly copier: LineReader;

  /** `number` is that of the first of its two panels on the connection. */
  constructor(
    number: number,
    name: ListName,
    private readonly questionOf: QuestionOf,
    private readonly orderOf: () => LineOrder,
  ) {
    const ask: Ask = (panel, id, wanted) => {
      const question = questionOf();
      if (question !== null) askLines(panel, id, question, wanted);
    };
    this.reader = new LineReader(number, ask);
    this.copier = new LineReader(number + 1, ask);
    this.lines = computed(() => slice.value.lists[name]);
    const place: LinesPlace = {
      read: () => this.lines.peek(),
      write: (lines) => dispatch({ type: "lines", list: name, lines }),
    };
    this.list = new LineList(this.reader, fileOf, place, orderOf);
  }

  /** Fetches lines whenever the selection changes and, not too often, when the data grows. */
  follow(): void {
    let last = "";
    let size = -1;
    let isWaiting = false;
    effect(() => {
      const { session, connection } = state.value;
      const question = this.questionOf();
      const isOpen = question !== null && session !== null && connection === "open";
      const { clauses, conditions, zone, kind } = question ?? {};
      const asked = [session, clauses, conditions, zone, kind, this.orderOf()];
      const selection = isOpen ? JSON.stringify(asked) : "";
      const lines = view.value?.report.records ?? 0;
      if (selection !== last) {
        last = selection;
        size = lines;
        if (isOpen) this.list.restart();
        else this.list.close();
      } else if (isOpen && lines !== size) {
        size = lines;
        if (isWaiting) return;
        isWaiting = true;
        setTimeout(() => {
          isWaiting = false;
          if (last !== "") this.list.refresh();
        }, REFRESH_MS);
      }
    });
  }

  /** Handles a reply to one of the questions. */
  take(reply: LinesReply): void {
    this.reader.take(reply);
    this.copier.take(reply);
  }

  /** The command that prints the lines. */
  command(): string {
    const selection: Selection = this.questionOf() ?? state.value.question;
    return grepCommand(selection, this.sources());
  }

  /** Copies the lines, or the first of them. Returns what happened as a sentence. */
  async copyLines(): Promise<string> {
    const total = Math.min(this.lines.peek().total ?? 0, COPIED_MAX);
    const texts: string[] = [];
    let isWhole = true;
    while (texts.length < total) {
      const read = await this.copier.read({
        from: texts.length,
        count: Math.min(COPY_WINDOW, total - texts.length),
        order: this.orderOf(),
      });
      if (!read?.answer || read.answer.lines.length === 0) return "The lines could not be read";
      const { texts: own } = await textsOf(read.answer, fileOf);
      for (const [at, line] of read.answer.lines.entries()) {
        const text = line.text ?? own.get(at)?.text ?? null;
        if (text === null) return "Not all of the lines were kept: copy the command instead";
        isWhole &&= !(line.cut ?? own.get(at)?.isCut);
        texts.push(text);
      }
    }
    const isCopied = await copyText(texts.map((text) => `${text}\n`).join(""));
    if (!isCopied) return "The browser does not allow to copy";
    return isWhole ? "Copied" : "Copied, long lines in part";
  }

  private sources(): Source[] {
    const numbers = new Set(this.lines.value.sources);
    return (state.value.view?.sources ?? []).filter(({ number }) => numbers.has(number));
  }
}

/** The panel of the lines of the filter. */
export const filteredLines = new LinePanel(
  0,
  "filtered",
  () => (tab.value === "lines" ? state.value.question : null),
  () => slice.value.order,
);

/** Chooses the order of the filtered lines. */
export function orderBy(order: LineOrder): void {
  dispatch({ type: "lines_view", part: { order } });
}

/** Lets long lines take several rows, or not. */
export function wrap(isWrapped: boolean): void {
  dispatch({ type: "lines_view", part: { isWrapped } });
}
