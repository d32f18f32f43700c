/** The rows of a selection, or the report on it, as a file of the server. */

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
  return addressWith(session, "export", question, { format, kind });
}

/** The address of the report on a question as HTML; `null` if the filter is too long for one. */
export function reportAddress(
  session: string,
  question: Question,
  kind: RecordKind,
): string | null {
  const { stack, top } = question;
  return addressWith(session, "report", question, { format: "html", kind, stack, top: `${top}` });
}

function addressWith(
  session: string,
  file: string,
  question: Question,
  values: Record<string, string>,
): string | null {
  const parameters = new URLSearchParams(values);
  for (const condition of conditionsOf(question)) parameters.append("where", condition);
  if (question.zone !== null) parameters.set("zone", question.zone);
  const address = `/api/sessions/${session}/${file}?${parameters}`;
  return address.length <= ADDRESS_MAX ? address : null;
}

/**
 * The command that saves the rows at an address of the server, as the server names the file. It takes the
 * token, which the page does not know, from the environment.
 */
export function curlCommand(origin: string, address: string, needsToken: boolean): string {
  const token = needsToken ? '-H "Authorization: Bearer $TOKEN" ' : "";
  return `curl -OJ ${token}${shellQuoted(origin + address)}`;
}
