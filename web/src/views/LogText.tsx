import { type Part, parts, TAB_ESCAPE, TEXT_MAX, visible, withEdges } from "../format/text";
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

/** The same for a whole line, in which tabs are columns. Escapes have what they stand for. */
export function lineParts(value: string) {
  const all = parts(value);
  let at = 0;
  return all.map((one, index) => {
    const isRest = value.length > TEXT_MAX && index === all.length - 1;
    const character = String.fromCodePoint(value.codePointAt(at) ?? 0);
    const raw = isRest ? value.slice(at) : one.isEscape ? character : one.text;
    at += raw.length;
    if (!one.isEscape) return one.text;
    return one.text === TAB_ESCAPE ? tab() : rawPart(one.text, raw);
  });
}

function rawPart(text: string, raw: string) {
  return (
    <span class="escape" data-raw={raw}>
      {text}
    </span>
  );
}

function tab() {
  return <span class="tab">{"\t"}</span>;
}

function part({ text, isEscape }: Part) {
  return isEscape ? <span class="escape">{text}</span> : text;
}
