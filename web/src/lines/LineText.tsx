import { stampText } from "../format/time";
import type { SelectedLine } from "../generated/SelectedLine";
import { lineParts, logParts } from "../views/LogText";
import { type MarkedPart, markedParts } from "./highlight";
import type { ShownLine } from "./shown";

/** The most characters of a line in the list. */
const SHOWN_MAX = 1_000;

interface Props {
  of: ShownLine;
  max?: number;
  /** Its number in the list, by which a copy finds the rest of a long line. */
  number?: number;
}

/** A line of the log, always shown as text, with its fields marked. */
export function LineText({ of: { line, text }, max = SHOWN_MAX, number }: Props) {
  if (text === null) return <Fields line={line} />;
  const shown = text.length > max ? text.slice(0, max) : text;
  return (
    <bdi class="log-text" dir="ltr">
      {markedParts(shown, line).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line have no other identity
        <span key={at} class={classOf(part)}>
          {lineParts(part.text)}
        </span>
      ))}
      {shown.length < text.length && (
        <span data-rest={number} data-from={shown.length}>
          …
        </span>
      )}
    </bdi>
  );
}

function classOf({ text, mark }: MarkedPart): string | undefined {
  if (mark !== "status") return mark === null ? undefined : `line-${mark}`;
  return /^[45]/.test(text) ? "line-status bad" : "line-status";
}

/** What is known of a line whose text was not kept. */
function Fields({ line }: { line: SelectedLine }) {
  const { time, client, method, path, status, user_agent } = line;
  const values = [time && stampText(time), client, method, path, status, user_agent];
  const text = values.filter(Boolean).join("  ");
  return (
    <bdi class="log-text line-fields" dir="ltr">
      {logParts(text)}
    </bdi>
  );
}
