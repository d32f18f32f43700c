import { type Part, parts, TAB_ESCAPE, visible, withEdges } from "../format/text";
import { EMPTY_VALUE } from "../generated/words";

interface Props {
  value: string;
  title?: boolean;
  /** Whether spaces at its ends are shown: two values may differ in them alone. */
  edges?: boolean;
}

/** A value from the log, always shown as text. */
export function LogText({ value, title = true, edges = false }: Props) {
  return (
    <bdi class="log-text" dir="ltr" title={title ? visible(value) : undefined}>
      {value === "" ? (
        <span class="escape">{EMPTY_VALUE}</span>
      ) : (
        (edges ? withEdges(parts(value)) : parts(value)).map(part)
      )}
    </bdi>
  );
}

/** The same without an element of its own, as a part of a longer text. */
export function logParts(value: string) {
  return parts(value).map(part);
}

/** The same for a whole line, in which tabs are columns. */
export function lineParts(value: string) {
  const partOfLine = (one: Part) => (one.isEscape && one.text === TAB_ESCAPE ? tab() : part(one));
  return parts(value).map(partOfLine);
}

function tab() {
  return <span class="tab">{"\t"}</span>;
}

function part({ text, isEscape }: Part) {
  return isEscape ? <span class="escape">{text}</span> : text;
}
