/** The files of a rule: a jail and the filters that it names are dropped together. */

import type { RuleFile } from "../generated/RuleFile";
import type { RuleText } from "../generated/RuleText";

/** A filter of fail2ban has this section, a jail has not. */
const DEFINITION = /^\s*\[Definition\]\s*$/m;

/**
 * Tells the rule from the files beside it. The rule is the first file that is no filter. If all are
 * filters, they belong to the text that is there already, or else the first of them is the text.
 */
export function ruleOfFiles(
  dropped: readonly RuleFile[],
  before: string | null,
): { text: string; files: readonly RuleFile[] } {
  const rule = dropped.find(({ text }) => !DEFINITION.test(text));
  if (rule === undefined && before !== null) return { text: before, files: dropped };
  const own = rule ?? dropped[0];
  return { text: own?.text ?? "", files: dropped.filter((file) => file !== own) };
}

/** The files of before with new ones, which replace those of the same name. */
export function filesTogether(
  before: readonly RuleFile[],
  added: readonly RuleFile[],
): readonly RuleFile[] {
  const names = new Set(added.map(({ name }) => name));
  return [...before.filter(({ name }) => !names.has(name)), ...added];
}

/** The rule as it is sent. */
export function ruleTextOf(text: string, files: readonly RuleFile[]): RuleText {
  return files.length === 0 ? { text } : { text, files: [...files] };
}
