import { count } from "../format/number";
import { nameParts, visible } from "../format/text";
import { isFailed, rowsOf } from "../state/rows";
import { state } from "../state/store";
import { LogText } from "./LogText";

/** The files that are named one by one; the menu of the sources has all of them. */
const NAMED_MAX = 3;

/** What could not be read, or not whole: the numbers lack it. */
export function FailedFiles() {
  const failed = rowsOf(state.value).filter(isFailed);
  const more = failed.length - NAMED_MAX;
  return (
    <ul class="notes failed-files" aria-label="Files that were not read whole">
      {failed.slice(0, NAMED_MAX).map(({ key, name, message }) => (
        <li key={key} data-testid="failed-file" title={visible(name)}>
          <b>
            <LogText value={shortName(name)} title={false} />
          </b>{" "}
          <LogText value={message ?? ""} title={false} />
        </li>
      ))}
      {more > 0 && <li>and {count(more)} more, in the menu of the sources</li>}
    </ul>
  );
}

/** The end of a path, which tells files apart. */
function shortName(name: string): string {
  const last = name.split("/").at(-1) || name;
  const { start, end } = nameParts(last);
  return start.length > 30 ? `${start.slice(0, 30)}…${end}` : last;
}
