/** The clauses of a filter as text for people. */

import { fieldLabel } from "../format/field";
import { textOfHex } from "../format/hex";
import { rangeText, stampText } from "../format/time";
import type { Clause } from "../generated/Clause";
import type { Operator } from "../generated/Operator";
import { conditionOf } from "./conditionText";
import { isRangeEnd, timeRange, withoutClause } from "./filter";
import type { Question } from "./state";

/** A condition: `label` and `sign` are words of the page, `values` come from the log. */
export interface Chip {
  key: string;
  label: string;
  sign: string;
  values: string[];
  negative: boolean;
  /** The condition as text, to be changed in the filter box. */
  text: string;
  /** The filter without this condition. */
  without: Filter;
}

type Filter = Pick<Question, "clauses" | "conditions">;

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

/** Returns one chip per clause and condition; the two ends of a time range share one. */
export function chipsOf({ clauses, conditions }: Filter): Chip[] {
  const range = timeRange(clauses);
  const chips = clauses
    .filter((clause) => range === null || !isRangeEnd(clause))
    .map((clause) => chipOf(clause, clauses, conditions));
  chips.push(...conditions.map((text) => conditionChip(text, clauses, conditions)));
  if (range === null) return chips;
  const time: Chip = {
    key: "time",
    label: "time",
    sign: "",
    values: [rangeText(range.start, range.end)],
    negative: false,
    text: clauses.filter(isRangeEnd).map(conditionOf).join(" and "),
    without: { clauses: clauses.filter((clause) => !isRangeEnd(clause)), conditions },
  };
  return [time, ...chips];
}

/** A condition keeps its text, which nothing but the server reads. */
function conditionChip(text: string, clauses: Clause[], conditions: string[]): Chip {
  return {
    key: `condition ${text}`,
    label: "",
    sign: "",
    values: [text],
    negative: false,
    text,
    without: { clauses, conditions: conditions.filter((other) => other !== text) },
  };
}

function chipOf(clause: Clause, clauses: Clause[], conditions: string[]): Chip {
  const hex = clause.op === "=x" || clause.op === "!=x";
  const read = clause.field === "time" ? stampText : hex ? textOfHex : (value: string) => value;
  return {
    key: JSON.stringify(clause),
    label: fieldLabel(clause.field),
    sign: SIGNS[clause.op],
    values: clause.values.map(read),
    negative: clause.op.startsWith("!"),
    text: conditionOf(clause),
    without: { clauses: withoutClause(clauses, clause), conditions },
  };
}
