import { type Part, parts, visible } from "../format/text";
import { EMPTY_VALUE } from "../generated/words";

/** A value from the log, always shown as text. */
export function LogText({ value, title = true }: { value: string; title?: boolean }) {
  return (
    <bdi class="log-text" dir="ltr" title={title ? visible(value) : undefined}>
      {value === "" ? <span class="escape">{EMPTY_VALUE}</span> : parts(value).map(part)}
    </bdi>
  );
}

function part({ text, isEscape }: Part) {
  return isEscape ? <span class="escape">{text}</span> : text;
}
