import { LogText } from "./LogText";

/** A line with the character marked at which it stops matching, a column that counts bytes from 1. */
export function MarkedLine({ text, column }: { text: string; column: number }) {
  const { before, at, after } = cutAt(text, column);
  return (
    <pre>
      {before !== "" && <LogText value={before} title={false} />}
      <mark>
        {at === "" ? (
          <span class="escape">(end of line)</span>
        ) : (
          <LogText value={at} title={false} />
        )}
      </mark>
      {after !== "" && <LogText value={after} title={false} />}
    </pre>
  );
}

/** Splits a line around the character at a column, which counts bytes from 1. */
function cutAt(text: string, column: number): { before: string; at: string; after: string } {
  const encoder = new TextEncoder();
  let bytes = 0;
  let index = 0;
  for (const character of text) {
    bytes += encoder.encode(character).length;
    if (bytes >= column) {
      const end = index + character.length;
      return { before: text.slice(0, index), at: character, after: text.slice(end) };
    }
    index += character.length;
  }
  return { before: text, at: "", after: "" };
}
