import { effect } from "@preact/signals";
import { share } from "../format/number";
import { visible } from "../format/text";
import { isOver, rowsOf, shareCounted } from "../state/rows";
import { state } from "../state/store";

/** Shows the progress and the name of the log in the title of the tab. Called once. */
export function followTitle(): void {
  effect(() => {
    const rows = rowsOf(state.value);
    const part = rows.every((row) => isOver(row.phase))
      ? null
      : shareCounted(state.value.view?.sources ?? []);
    const name =
      rows.length === 1 ? visible(rows[0]!.name) : rows.length > 1 ? `${rows.length} files` : "";
    const pieces = [part === null ? "" : share(part, 1), name, "Weir"];
    document.title = pieces.filter((piece) => piece !== "").join(" · ");
  });
}
