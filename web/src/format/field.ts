/** Names of the fields on the page. */

import { LIST_TITLES, STATUS_CLASS } from "../generated/words";
import { ownValue } from "./ownValue";

/** Labels of the fields of any log whose name cannot be used in a sentence. */
const LABELS: Record<string, string> = {
  [STATUS_CLASS]: "status class",
  user_agent: "user agent",
  request: "malformed request",
  request_time: "request time",
  upstream_time: "upstream time",
  upstream_connect_time: "upstream connect time",
  upstream_header_time: "upstream header time",
  wait_time: "wait time",
  body_time: "body time",
};

/** The title of a field's list. A field that only this log has keeps its name, as in a filter. */
export function fieldTitle(field: string): string {
  return ownValue(LIST_TITLES, field) ?? field;
}

/** The field's name in a sentence or on a chip. */
export function fieldLabel(field: string): string {
  return ownValue(LABELS, field) ?? field;
}
