/**
 * Chosen values of a list: what a click on a row does to the filter. A clause cannot say that a
 * record lacks the field, so that is a condition: `user=(none)`.
 */

import type { Clause } from "../generated/Clause";
import { NO_VALUE } from "../generated/words";
import { conditionOf } from "./conditionText";
import { exclude, isIncluded, isIncludeOf, toggleInclude, type Value } from "./filter";
import type { Question } from "./state";

/** A row of a list. */
export interface Choice extends Value {
  /** Whether it stands for the records without the field. */
  absent?: boolean | undefined;
}

type Filter = Pick<Question, "clauses" | "conditions">;

function absent(field: string, op: "=" | "!="): string {
  return conditionOf({ field, op, values: [NO_VALUE] });
}

/** Whether the filter includes a row by name. */
export function isChosen({ clauses, conditions }: Filter, field: string, row: Choice): boolean {
  if (row.absent) return conditions.includes(absent(field, "="));
  return isIncluded(clauses, field, row);
}

/** Whether the filter includes rows of a list by name. */
export function hasChosen({ clauses, conditions }: Filter, field: string): boolean {
  const isOwn = (clause: Clause) => isIncludeOf(clause, field);
  return clauses.some(isOwn) || conditions.includes(absent(field, "="));
}

/** Removes what includes rows of a list by name. */
export function withoutChosen<F extends Filter>(filter: F, field: string): F {
  return {
    ...filter,
    clauses: filter.clauses.filter((clause) => !isIncludeOf(clause, field)),
    conditions: filter.conditions.filter((text) => text !== absent(field, "=")),
  };
}

/** Includes a row, or removes it if it is included. No value and a value are not included together. */
export function toggled(filter: Filter, field: string, row: Choice): Filter {
  const { clauses, conditions } = filter;
  if (row.absent) {
    const rest = withoutChosen(filter, field);
    if (isChosen(filter, field, row)) return { clauses, conditions: rest.conditions };
    return { clauses: rest.clauses, conditions: [...rest.conditions, absent(field, "=")] };
  }
  const others = conditions.filter((text) => text !== absent(field, "="));
  return { clauses: toggleInclude(clauses, field, row), conditions: others };
}

/** Excludes a row, and removes it from the included ones. */
export function excluded(filter: Filter, field: string, row: Choice): Filter {
  const { clauses, conditions } = filter;
  if (!row.absent) return { clauses: exclude(clauses, field, row), conditions };
  const rest = conditions.filter((text) => text !== absent(field, "="));
  const text = absent(field, "!=");
  return { clauses, conditions: rest.includes(text) ? rest : [...rest, text] };
}
