import { wordsOf } from "../format/kind";
import type { Report } from "../generated/Report";
import type { RowFormat } from "../state/save";
import { canAsk } from "../state/state";
import { question, save, state } from "../state/store";
import { withoutLines } from "../state/withoutLines";
import { chooseFormat, saveLines, TOO_LONG } from "./control";
import { FileItem, Item } from "./Menu";
import { rowsAddress } from "./rows";

const FORMATS: readonly [RowFormat, name: string, hint: string][] = [
  ["csv", "CSV", "a table, also for spreadsheets"],
  ["jsonl", "JSON lines", "an object a line"],
  ["parquet", "Parquet", "typed columns, small; for DuckDB, pandas"],
  ["arrow", "Arrow", "a stream of typed columns; for pyarrow, Polars"],
];

/** Saves the data on the screen: its rows, or its lines. */
export function SaveItems({ report }: { report: Report }) {
  const { title } = wordsOf(report);
  const { outcome, probe } = save.value;
  const reading = outcome.isReading ? "lines are being read" : null;
  return (
    <>
      {FORMATS.map(([format, name, hint]) => (
        <FileItem
          key={format}
          id={`save-${format}`}
          label={`${title} as ${name}`}
          hint={hint}
          address={addressOf(report, format)}
          problem={canAsk(state.value) ? TOO_LONG : "Weir does not answer"}
          onSave={() => chooseFormat(format)}
        />
      ))}
      {!withoutLines.value && (
        <Item
          id="save-lines"
          label="Lines of the log"
          hint="as they are in the files"
          problem={probe.problem ?? reading}
          choose={() => void saveLines()}
        />
      )}
    </>
  );
}

function addressOf({ kind }: Report, format: RowFormat): string | null {
  const { session } = state.value;
  if (session === null || !canAsk(state.value)) return null;
  return rowsAddress(session, question.value, kind, format);
}
