/** The rows of a selection as a file, which the server writes while the browser saves it. */

import { ADDRESS_MAX } from "../control/history";
import type { RecordKind } from "../generated/RecordKind";
import { shellQuoted } from "../lines/command";
import { conditionsOf } from "../state/conditionText";
import type { RowFormat } from "../state/save";
import type { Question } from "../state/state";

/** The ending of a file of each format. */
export const ROW_ENDINGS: Record<RowFormat, string> = {
  csv: "csv",
  jsonl: "jsonl",
  parquet: "parquet",
  arrow: "arrows",
};

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

/** The command that saves the rows at an address of the server, as the server names the file. */
export function curlCommand(origin: string, address: string): string {
  return `curl -OJ ${shellQuoted(origin + address)}`;
}
