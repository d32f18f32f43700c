/** The clauses of a filter as text for people. */

import { fieldLabel } from "../format/field";
import { textOfHex } from "../format/hex";
import { rangeText, stampText } from "../format/time";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";
import { isRangeEnd, timeRange, withoutClause } from "./filter";

/** A condition: `label` and `sign` are words of the page, `values` come from the log. */
export interface Chip {
  key: string;
  label: string;
  sign: string;
  values: string[];
  negative: boolean;
  /** The filter without this condition. */
  without: Clause[];
}

const SIGNS: Record<Operator, string> = {
  "=": "is",
  "=x": "is",
  "!=": "is not",
  "!=x": "is not",
  "^=": "begins with",
  "~": "matches",
  "!~": "does not match",
  "<": "<",
  "<=": "≤",
  ">": ">",
  ">=": "≥",
};

/** Returns one chip per clause; the two ends of a time range share one. */
export function chipsOf(clauses: Clause[]): Chip[] {
  const range = timeRange(clauses);
  const chips = clauses
    .filter((clause) => range === null || !isRangeEnd(clause))
    .map((clause) => chipOf(clause, clauses));
  if (range === null) return chips;
  const time: Chip = {
    key: "time",
    label: "time",
    sign: "",
    values: [rangeText(range.start, range.end)],
    negative: false,
    without: clauses.filter((clause) => !isRangeEnd(clause)),
  };
  return [time, ...chips];
}

function chipOf(clause: Clause, clauses: Clause[]): Chip {
  const hex = clause.op === "=x" || clause.op === "!=x";
  const read = clause.field === "time" ? stampText : hex ? textOfHex : (value: string) => value;
  return {
    key: JSON.stringify(clause),
    label: fieldLabel(clause.field),
    sign: SIGNS[clause.op],
    values: clause.values.map(read),
    negative: clause.op.startsWith("!"),
    without: withoutClause(clauses, clause),
  };
}
