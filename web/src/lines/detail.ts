/** The line that is looked at: all of its fields, and the lines around it in its source. */

import { askLines } from "../control/live";
import { filterBy } from "../control/questions";
import { fileOf } from "../control/uploads";
import type { LineField } from "../generated/LineField";
import type { SelectedLine } from "../generated/SelectedLine";
import { exclude, toggleInclude } from "../state/filter";
import { NO_DETAIL } from "../state/lines";
import { dispatch, lines, state } from "../state/store";
import { textsOf } from "./list";
import { LineReader, type LinesReply, type WantedLines } from "./reader";
import type { ShownLine } from "./shown";

/** The number of the panel on the connection that reads one line. */
const PANEL = 5;

/** The lines around a line, with itself. */
const AROUND = 21;

/** A person who walks through the list with the keys does not need the fields of each line. */
const PAUSE_MS = 80;

// Without a filter: what stands around a line need not match.
const reader = new LineReader(PANEL, (panel, id, wanted) => {
  const { question, view } = state.peek();
  const kind = question.kind ?? view?.report.kind ?? null;
  askLines(panel, id, { ...question, kind, clauses: [], conditions: [] }, wanted);
});

let pause: ReturnType<typeof setTimeout> | undefined;

/** Handles a reply to one of the questions. */
export function takeDetail(reply: LinesReply): void {
  reader.take(reply);
}

/** Looks at a line, or at none. */
export function lookAt(line: SelectedLine | null): void {
  const before = lines.peek().detail.line;
  if (line !== null && before !== null && isSame(before, line)) return;
  clearTimeout(pause);
  reader.stop();
  dispatch({ type: "line_detail", part: { ...NO_DETAIL, line } });
  if (line !== null) pause = setTimeout(() => void readFields(line), PAUSE_MS);
}

/** Shows the lines around the one that is looked at. */
export async function showAround(): Promise<void> {
  const { line } = lines.peek().detail;
  if (line === null) return;
  const around = await read(line, { count: AROUND });
  if (around !== null) tell(line, { around: around.lines });
}

/** Filters by a field of the line, as a click on a list does. */
export function filterByField(field: LineField): void {
  filterBy(toggleInclude(state.peek().question.clauses, field.name, field));
}

/** Leaves out all lines with a field like that of the line. */
export function excludeField(field: LineField): void {
  filterBy(exclude(state.peek().question.clauses, field.name, field));
}

async function readFields(line: SelectedLine): Promise<void> {
  const found = await read(line, { count: 1, fields: true });
  const own = found?.lines.find((one) => isSame(one.line, line));
  tell(line, { source: found?.source ?? "", fields: own?.line.fields ?? [] });
}

/** Lines around one in its source, with their texts; `null` if they are not known. */
async function read(
  { source, offset }: SelectedLine,
  wanted: Omit<WantedLines, "from">,
): Promise<{ lines: ShownLine[]; source: string } | null> {
  const found = await reader.read({ from: 0, around: { source, offset }, ...wanted });
  if (!found?.answer) return null;
  const { answer } = found;
  const { texts } = await textsOf(answer, fileOf);
  const shown = answer.lines.map((line, at): ShownLine => {
    const { text = null, cut = false } = line;
    return texts.get(at) ?? { line, text, isCut: cut };
  });
  return { lines: shown, source: answer.sources[0]?.name ?? "" };
}

function tell(line: SelectedLine, part: Partial<typeof NO_DETAIL>): void {
  const now = lines.peek().detail.line;
  if (now !== null && isSame(now, line)) dispatch({ type: "line_detail", part });
}

/** Whether both are the same line of the same source. */
export function isSame(one: SelectedLine, other: SelectedLine): boolean {
  return one.source === other.source && one.offset === other.offset;
}
