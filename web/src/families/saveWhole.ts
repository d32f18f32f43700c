/** Saves the values of a whole list. */

import { count, plural } from "../format/number";
import type { FieldList } from "../generated/FieldList";
import { download } from "../save/download";
import { fileName } from "../save/fileName";
import { dispatch, families, question, view } from "../state/store";
import { SAVED_MAX } from "./control";
import { csvOf } from "./csv";

/** Asks for all rows, which are saved when they arrive. */
export function saveWhole(): void {
  dispatch({ type: "whole_changed", part: { isSaving: true } });
}

/** Saves an answer if it has all rows, and goes on with the rows that were shown. */
export function saveAnswered(answer: FieldList | null): void {
  const { whole } = families.peek();
  const isWhole = (of: FieldList) =>
    of.group.rest.values === 0 || of.group.rows.length >= SAVED_MAX;
  // That of the question before.
  if (answer !== null && !isWhole(answer)) return;
  dispatch({ type: "whole_changed", part: { isSaving: false } });
  if (answer === null || whole === null) return;
  const list = whole.field.replaceAll("/", "_");
  const name = fileName(view.peek()?.sources ?? [], question.peek(), `${list}.csv`);
  download(name, new Blob([csvOf(answer)], { type: "text/csv" }));
  const { rows, rest } = answer.group;
  const values =
    rest.values === 0
      ? plural(rows.length, "value")
      : `the first ${count(rows.length)} of ${count(rows.length + rest.values)} values`;
  const outcome = { text: `Saved ${values} as ${name}`, isReading: false };
  dispatch({ type: "save", part: { outcome } });
}
