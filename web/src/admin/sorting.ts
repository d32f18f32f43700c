/** The columns of a table, and the order of its rows. */

export interface Column<Row> {
  key: string;
  title: string;
  /** What the column shows and sorts by; `undefined` if it is not known. */
  value: (row: Row) => number | string | undefined;
  /** The text of a number. */
  write: (value: number) => string;
  /** Whether it has texts, which begin at the left and are sorted from A to Z. */
  isText?: boolean;
  /** Whether its cells are buttons that open the row. */
  opens?: boolean;
  className?: (row: Row) => string;
}

export interface Sort {
  key: string;
  isAscending: boolean;
}

type TextOptions<Row> = Pick<Column<Row>, "opens" | "className">;

/** A column of texts. */
export function textColumn<Row>(
  key: string,
  title: string,
  value: (row: Row) => string | undefined,
  options: TextOptions<Row> = {},
): Column<Row> {
  return { key, title, value, write: String, isText: true, ...options };
}

/** A column of numbers. */
export function numberColumn<Row>(
  key: string,
  title: string,
  value: (row: Row) => number | undefined,
  write: (value: number) => string,
): Column<Row> {
  return { key, title, value, write };
}

/** The order after a click on the head of a column. */
export function nextSort<Row>(sort: Sort, { key, isText = false }: Column<Row>): Sort {
  return { key, isAscending: sort.key === key ? !sort.isAscending : isText };
}

/** The rows in an order. Unknown values come last, and equal ones are in the order of their names. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { key, isAscending }: Sort,
): Row[] {
  const column = columns.find((one) => one.key === key);
  if (!column) return [...rows];
  const names = columns.find(({ isText }) => isText);
  const order = isAscending ? 1 : -1;
  return rows
    .map((row) => ({ row, value: column.value(row), name: names?.value(row) ?? "" }))
    .sort((a, b) => {
      if (a.value === undefined || b.value === undefined) {
        return Number(a.value === undefined) - Number(b.value === undefined);
      }
      return order * compared(a.value, b.value) || compared(a.name, b.name);
    })
    .map(({ row }) => row);
}

function compared(a: number | string, b: number | string): number {
  const areNumbers = typeof a === "number" && typeof b === "number";
  return areNumbers ? a - b : String(a).localeCompare(String(b));
}
