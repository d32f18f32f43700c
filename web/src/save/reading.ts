/** The lines that are read to be saved: the part that replies and connections reach. */

import { effect } from "@preact/signals";
import { askLines } from "../control/live";
import { LineReader, type LinesReply } from "../lines/reader";
import { question, state } from "../state/store";

/** The number of the panel on the connection that reads the lines. */
const LINE_PANEL = 4;

/** The question whose lines are read. */
let asked = question.peek();

/** Reads lines of the question that was chosen last. */
export const reader = new LineReader(LINE_PANEL, (panel, id, wanted) =>
  askLines(panel, id, asked, wanted),
);

/** Chooses the question on the screen, and returns it. */
export function chooseQuestion() {
  asked = question.peek();
  return asked;
}

/** Handles a reply to a question about the lines. */
export function takeSavedLines(reply: LinesReply): void {
  reader.take(reply);
}

/** Gives up reading when the connection breaks: there will be no reply. Called once. */
export function followSaving(): void {
  effect(() => {
    if (state.value.connection !== "open") reader.stop();
  });
}
