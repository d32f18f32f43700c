/** Clauses as the conditions that a person would type (docs/conditions.md). */

import { visible } from "../format/text";
import type { Clause } from "../generated/Clause";
import { EMPTY_VALUE, NO_VALUE } from "../generated/words";
import type { Question } from "./state";

/** A word that joins or negates conditions. */
const KEYWORD = /^(and|or|not)$/i;

/** The condition that states the same as a clause. */
export function conditionOf({ field, op, values }: Clause): string {
  const name = quotedName(field);
  if (op === "=x" || op === "!=x") {
    return `${name}${op.slice(0, -1)}${values.map(quotedBytes).join(",")}`;
  }
  if (op === "~" || op === "!~") return conditionOfExpressions(name, op, values);
  const forms = op === "=" || op === "!=" ? values.map(valueOrForm) : values.map(quoted);
  return `${name}${op}${forms.join(",")}`;
}

/** A value as a condition needs it: in quotation marks if it could be read as something else. */
export function quoted(value: string): string {
  const isPlain = /^[^\s,"'()*=!~<>\\]+$/.test(value) && !KEYWORD.test(value);
  return isPlain && visible(value) === value ? value : inMarks(value);
}

function inMarks(text: string): string {
  return `"${[...text].map(escaped).join("")}"`;
}

function valueOrForm(value: string): string {
  if (value === NO_VALUE) return value;
  return value === "" ? EMPTY_VALUE : quoted(value);
}

/** Any of several expressions may match; none of them for the negative operator. */
function conditionOfExpressions(name: string, op: "~" | "!~", values: string[]): string {
  const all = values.map((value) => `${name}${op}"${value.replace(/\\.|"/gs, escapedMark)}"`);
  const [first] = all;
  if (all.length === 1 && first !== undefined) return first;
  return all.join(op === "~" ? " or " : " and ");
}

/** A part of an expression: a quotation mark stands for itself, whether or not a backslash precedes it. */
function escapedMark(part: string): string {
  return part.endsWith('"') ? "\\x22" : part;
}

function quotedName(field: string): string {
  return /^[\w-]+$/.test(field) && !KEYWORD.test(field) ? field : inMarks(field);
}

const ESCAPES: Record<string, string> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

/** A character in quotation marks: one that cannot be seen becomes its bytes. */
function escaped(character: string): string {
  const named = ESCAPES[character];
  if (named !== undefined || visible(character) === character) return named ?? character;
  const bytes = [...new TextEncoder().encode(character)];
  return bytes.map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}

/** A value of bytes, given in hexadecimal. */
function quotedBytes(hex: string): string {
  const pairs = hex.match(/../g) ?? [];
  const text = pairs.map((pair) => {
    const character = String.fromCharCode(Number.parseInt(pair, 16));
    return /[ -~]/.test(character) ? escaped(character) : `\\x${pair}`;
  });
  return `"${text.join("")}"`;
}

/** The filter as conditions, all of which have to be met. */
export function conditionsOf({
  clauses,
  conditions,
}: Pick<Question, "clauses" | "conditions">): string[] {
  return [...clauses.map(conditionOf), ...conditions];
}
