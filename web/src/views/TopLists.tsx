import { useRef } from "preact/hooks";
import { columnCount, fieldColumns } from "../format/field";
import { wordsOf } from "../format/kind";
import type { Report } from "../generated/Report";
import type { TopRow } from "../generated/TopRow";
import { TopList } from "./TopList";
import { useSize } from "./useSize";

/** Least width of a column of lists, in CSS pixels. */
const COLUMN_WIDTH = 520;

/** All lists with values, in as many columns as fit. */
export function TopLists({ report }: { report: Report }) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame, true);
  const fields = Object.keys(report.top).filter((field) => !isEmptyList(report.top[field]!));
  const leading = wordsOf(report).leading_fields;
  const room = Math.floor((size?.width ?? 0) / COLUMN_WIDTH);
  // Based on all fields of the log, even those that the filter leaves empty, so that no list jumps.
  const count = columnCount(Object.keys(report.top), room, leading);
  return (
    <div ref={frame} class={`lists columns-${count}`} data-kind={report.kind}>
      {size &&
        fieldColumns(fields, count, leading).map((column, at) => (
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

/** Whether a list has nothing to show: no value, or only one that stands for a missing value. */
function isEmptyList(rows: TopRow[]): boolean {
  return rows.length < 2 && rows.every((row) => ["-", ""].includes(row.value) && !row.remainder);
}
