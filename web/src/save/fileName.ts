/** The names of saved files: the source, and the filter if there is one. */

import type { Source } from "../generated/Source";
import type { Selection } from "../lines/command";
import { conditionsOf } from "../state/conditionText";

/** The most characters of a name without its extension. */
const NAME_MAX = 100;

/**
 * The name of a file with a selection of these sources, such as `access.log-status_404.csv`. It is
 * harmless in every file system: the server names its files by the same rule.
 */
export function fileName(
  sources: readonly Pick<Source, "name">[],
  selection: Pick<Selection, "clauses" | "conditions">,
  extension: string,
): string {
  const first = sources[0]?.name.split(/[/\\]/).at(-1) ?? "";
  const source = harmless(first).replace(/^\.+/, "") || "rows";
  const filter = harmless(conditionsOf(selection).join(" "))
    .replace(/_+/g, "_")
    .replace(/^_|_$/g, "");
  const name = filter === "" ? source : `${source}-${filter}`;
  return `${name.slice(0, NAME_MAX)}.${extension}`;
}

function harmless(text: string): string {
  return [...text].map((it) => (/^[\w.-]$/.test(it) ? it : "_")).join("");
}
