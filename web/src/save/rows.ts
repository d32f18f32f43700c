/** The rows of a selection as a file, which the server writes while the browser saves it. */

import { ADDRESS_MAX } from "../control/history";
import type { RecordKind } from "../generated/RecordKind";
import { conditionsOf } from "../state/conditionText";
import type { Question } from "../state/state";

/** The formats of rows. */
export type RowFormat = "csv" | "jsonl" | "parquet" | "arrow";

/** The address of the rows that a question selects; `null` if the filter is too long for one. */
export function rowsAddress(
  session: string,
  question: Question,
  kind: RecordKind,
  format: RowFormat,
): string | null {
  const parameters = new URLSearchParams({ format, kind });
  for (const condition of conditionsOf(question)) parameters.append("where", condition);
  if (question.zone !== null) parameters.set("zone", question.zone);
  const address = `/api/sessions/${session}/export?${parameters}`;
  return address.length <= ADDRESS_MAX ? address : null;
}
