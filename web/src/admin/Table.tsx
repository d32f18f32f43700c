import { type ComponentChildren, Fragment } from "preact";
import { visible } from "../format/text";
import { LogText } from "../views/LogText";
import { type Column, nextSort, type Sort, sorted } from "./sorting";

interface Props<Row> {
  id: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  sort: Sort;
  onSort: (sort: Sort) => void;
  /** Whether the rows come in the order of `sort`. */
  isSorted?: boolean;
  /** The key of the row that is open, if rows open below themselves. */
  open?: string | null;
  onOpen?: (key: string) => void;
  /** The rows below an open one. */
  below?: (row: Row) => ComponentChildren;
  /** What is said if there is no row. */
  none?: string;
}

/** A table that is sorted by any of its columns. */
export function Table<Row>(props: Props<Row>) {
  const { id, columns, keyOf, sort, onSort, below, none = "None." } = props;
  const rows = props.isSorted ? props.rows : sorted(props.rows, columns, sort);
  return (
    <table id={id} class="table">
      <thead>
        <tr>
          {columns.map((column) => (
            <Head key={column.key} column={column} sort={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Fragment key={keyOf(row)}>
            <tr>
              {columns.map((column) => (
                <Cell key={column.key} column={column} row={row} of={props} />
              ))}
            </tr>
            {props.open === keyOf(row) && below?.(row)}
          </Fragment>
        ))}
        {rows.length === 0 && (
          <tr>
            <td class="text" colSpan={columns.length}>
              {none}
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

interface HeadProps<Row> {
  column: Column<Row>;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const order = sort.isAscending ? "ascending" : "descending";
  const isSorted = sort.key === column.key;
  return (
    <th
      scope="col"
      class={column.isText ? "text" : ""}
      data-key={column.key}
      aria-sort={isSorted ? order : undefined}
    >
      <button type="button" class="sort" onClick={() => onSort(nextSort(sort, column))}>
        {column.title}
      </button>
    </th>
  );
}

interface CellProps<Row> {
  column: Column<Row>;
  row: Row;
  of: Props<Row>;
}

function Cell<Row>({ column, row, of: { keyOf, open, onOpen } }: CellProps<Row>) {
  const value = column.value(row);
  const classes = [
    column.isText && "text",
    column.className?.(row),
    (value === undefined || value === 0) && "is-nothing",
  ];
  // In a narrow window the style sheet puts the title before the value.
  const common = { class: classes.filter(Boolean).join(" "), "data-title": column.title };
  const shown = value === undefined ? "–" : typeof value === "number" ? column.write(value) : value;
  if (!column.opens || !onOpen) {
    return <td {...common}>{typeof value === "string" ? <LogText value={value} /> : shown}</td>;
  }
  const key = keyOf(row);
  return (
    <td {...common}>
      <button
        type="button"
        class="open"
        title={visible(shown)}
        aria-expanded={open === undefined ? undefined : open === key}
        onClick={() => onOpen(key)}
      >
        <LogText value={shown} title={false} />
      </button>
    </td>
  );
}
