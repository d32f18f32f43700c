/** The commands that print what is on the screen. */

import type { RecordKind } from "../generated/RecordKind";
import type { Source } from "../generated/Source";
import { conditionsOf } from "../state/conditionText";
import { DEFAULT_QUESTION, type Question } from "../state/state";

/** The name of a member of an archive: the path of the archive, a slash, and that of the member. */
const MEMBER = /^(.*\.(?:zip|tar|tgz|txz|tbz2?|tar\.[a-z0-9]+))\/./i;

/** The name of a source that was read from standard input, which a command calls `-`. */
const STDIN = "standard input";

/** The part of a question that selects records. */
export type Selection = Pick<Question, "clauses" | "conditions" | "zone">;

/** The command that prints the lines that a question selects of these sources. */
export function grepCommand(selection: Selection, sources: readonly Source[]): string {
  const files = filesOf(sources);
  const wheres = conditionsOf(selection);
  const hasUnparsed = sources.some((source) => source.unparsed_lines + source.too_long_lines > 0);
  // Without a condition `weir grep` would print the lines that are not records too.
  if (wheres.length === 0 && hasUnparsed)
    return ["weir export --to lines", ...operandsOf(files)].join(" ");
  const parts = ["weir grep"];
  if (files.length > 1) parts.push("--no-filename");
  parts.push(...selecting(selection.zone, wheres));
  // An empty pattern, so that the first file is not taken for the pattern.
  parts.push("''", ...operandsOf(files));
  return parts.join(" ");
}

/** The command that writes the fields of the records that a question selects to the file `output`. */
export function exportCommand(
  selection: Selection,
  kind: RecordKind,
  sources: readonly Source[],
  output: string,
): string {
  const parts = [`weir export --output ${shellQuoted(output)}`, kindOption(kind)];
  parts.push(...selecting(selection.zone, conditionsOf(selection)));
  parts.push(...operandsOf(filesOf(sources)));
  return parts.join(" ");
}

/** The command that reports what a question asks about these sources. */
export function reportCommand(question: Question, sources: readonly Source[]): string {
  const { zone, kind, stack, top } = question;
  const parts = ["weir report"];
  if (kind !== null) parts.push(kindOption(kind));
  if (stack !== DEFAULT_QUESTION.stack) parts.push(`--stack ${shellQuoted(stack)}`);
  if (top !== DEFAULT_QUESTION.top) parts.push(`--top ${top}`);
  parts.push(...selecting(zone, conditionsOf(question)));
  parts.push(...operandsOf(filesOf(sources)));
  return parts.join(" ");
}

/** The options of all commands that select records. */
function selecting(zone: string | null, wheres: readonly string[]): string[] {
  const options = wheres.map((text) => `--where ${shellQuoted(text)}`);
  return zone === null ? options : [`--tz ${shellQuoted(zone)}`, ...options];
}

function kindOption(kind: RecordKind): string {
  return `--kind ${kind.replaceAll("_", "-")}`;
}

/** The files as the last words of a command, after `--` if one of them looks like an option. */
function operandsOf(files: readonly string[]): string[] {
  const isOption = (file: string) => file.startsWith("-") && file !== "-";
  return [...(files.some(isOption) ? ["--"] : []), ...files.map(shellQuoted)];
}

/** The files to name, each once. */
function filesOf(sources: readonly Source[]): string[] {
  const names = sources.map(({ name }) =>
    name === STDIN ? "-" : (MEMBER.exec(name)?.[1] ?? name),
  );
  return [...new Set(names)];
}

/**
 * A word as a shell reads it. Control characters, which a terminal obeys, are escaped; a shell that
 * does not know such escapes reads another word, but no command.
 */
export function shellQuoted(word: string): string {
  if (/^[\w./:=@%+,-]+$/.test(word)) return word;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is escaped
  if (!/[\u0000-\u001f\u007f-\u009f]/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = [...word].map((character) => {
    const code = character.codePointAt(0)!;
    if (character === "\\") return "\\\\";
    if (character !== "'" && code >= 32 && (code < 127 || code > 159)) return character;
    const bytes = [...new TextEncoder().encode(character)];
    return bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  });
  return `$'${escaped.join("")}'`;
}
