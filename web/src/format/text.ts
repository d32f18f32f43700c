/**
 * Text from the log, which may come from an attacker.
 *
 * The page puts it only into text nodes and attributes, so it cannot inject markup. Characters
 * that are invisible or that move their neighbours are shown as escapes: control characters, line
 * breaks, zero-width characters, and directional marks, which make a line read backwards.
 */

/** A part of a value: verbatim, or an escape for one character. */
export interface Part {
  text: string;
  isEscape: boolean;
}

/** Characters of a value that are shown; of the rest only the length is shown. */
export const TEXT_MAX = 4096;

const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu;

/** The escape of a tab. */
export const TAB_ESCAPE = "\\t";

const NAMED: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": TAB_ESCAPE };

/** Splits a value into parts that are safe to show one after the other. */
export function parts(value: string): Part[] {
  const text = cut(value);
  const found: Part[] = [];
  let from = 0;
  for (const match of text.matchAll(UNSAFE)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), isEscape: false });
    found.push({ text: escapeOf(match[0]), isEscape: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), isEscape: false });
  if (text.length < value.length) {
    found.push({ text: `… ${value.length - text.length} more characters`, isEscape: true });
  }
  return found;
}

/** The parts with the spaces at both ends as escapes, so that they can be seen. */
export function withEdges(found: Part[]): Part[] {
  const last = found.length - 1;
  return found.flatMap((part, at) => {
    if (part.isEscape) return [part];
    const [, before, text, after] = /^( *)(.*?)( *)$/s.exec(part.text)!;
    return [
      ...(at === 0 ? escapedSpaces(before!) : plain(before!)),
      ...plain(text!),
      ...(at === last ? escapedSpaces(after!) : plain(after!)),
    ];
  });
}

function plain(text: string): Part[] {
  return text === "" ? [] : [{ text, isEscape: false }];
}

function escapedSpaces(spaces: string): Part[] {
  return spaces === "" ? [] : [{ text: "\\x20".repeat(spaces.length), isEscape: true }];
}

/** The same as one string, for tooltips and screen readers. */
export function visible(value: string): string {
  return parts(value)
    .map((part) => part.text)
    .join("");
}

/** Several lines of text, with their line breaks and tabs, for an element that keeps white space. */
export function visibleLines(value: string): string {
  const line = (text: string) => text.split("\t").map(visible).join("\t");
  return value.split("\n").map(line).join("\n");
}

/** The text with an upper-case letter at the beginning. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function cut(value: string): string {
  if (value.length <= TEXT_MAX) return value;
  // Not between the halves of a surrogate pair.
  const half = /[\ud800-\udbff]/.test(value.charAt(TEXT_MAX - 1));
  return value.slice(0, half ? TEXT_MAX - 1 : TEXT_MAX);
}

function escapeOf(character: string): string {
  const named = NAMED[character];
  if (named) return named;
  const code = character.codePointAt(0)!.toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}

/** Last characters of a long name, which tell files of a folder apart. */
const NAME_END = 18;
/** The fewest characters before them that are worth a cut. */
const NAME_START_MIN = 6;

/** A name in two parts. The first may be cut, and is empty if the name is short. */
export function nameParts(name: string): { start: string; end: string } {
  const characters = [...name];
  const isLong = characters.length >= NAME_START_MIN + NAME_END;
  const cut = isLong ? characters.length - NAME_END : 0;
  return { start: characters.slice(0, cut).join(""), end: characters.slice(cut).join("") };
}

/** `requests and blocks`, or `requests, blocks and events` if the last one is a list itself. */
export function listed(nouns: readonly string[]): string {
  return nouns.join(nouns.at(-1)?.includes(" and ") ? ", " : " and ");
}
