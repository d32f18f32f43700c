import { useRef } from "preact/hooks";
import { columnCount, fieldColumns } from "../format/field";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";
import { TopList } from "./TopList";
import { useSize } from "./useSize";

/** Least width of a column of lists, in CSS pixels. */
const COLUMN_WIDTH = 340;

/** Every list that has something to say, in as many columns as there is room for. */
export function TopLists({ report }: { report: Report }) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const fields = Object.keys(report.top).filter((field) => !saysNothing(report.top[field]!));
  const room = Math.floor((size?.width ?? 0) / COLUMN_WIDTH);
  // By all fields of the log, also those that the filter leaves nothing of: no list is to jump.
  const count = columnCount(Object.keys(report.top), room);
  return (
    <div ref={frame} class={`lists columns-${count}`}>
      {size &&
        fieldColumns(fields, count).map((column, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
          <div class="list-column" key={at}>
            {column.map((field) => (
              <TopList key={field} field={field} report={report} />
            ))}
          </div>
        ))}
    </div>
  );
}

/** True for an empty list, and for a field that was logged as `-` in every line. */
function saysNothing(rows: TopRow[]): boolean {
  return rows.every((row) => row.value === "-" && !row.remainder);
}
