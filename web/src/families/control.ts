/** Asks for the lists that the cards show and that no view has. */

import { effect } from "@preact/signals";
import { askList, type ListPart } from "../control/live";
import { wordsOf } from "../format/kind";
import { ownValue } from "../format/ownValue";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import { boundsOf } from "../measure/chart";
import { durationOf, percentileOf, serverName, shownMeasure } from "../measure/measures";
import { hasChosen, withoutChosen } from "../state/choice";
import type { Sort } from "../state/families";
import type { Measure } from "../state/measure";
import { hasFilter, type Question } from "../state/state";
import { awaiting, dispatch, families, state, tab, view } from "../state/store";
import {
  type Family,
  type FamilyName,
  familiesOf,
  fieldsWithValues,
  isInOrder,
  knownFields,
} from "./families";

/** The number of rows of a list whose rows are in the order of their values: a year of days. */
const IN_ORDER_MAX = 400;

/** The cards in the order of their numbers on the connection. */
const PANELS: readonly FamilyName[] = ["who", "what", "how", "with", "from", "when", "others"];

/** The number of the list of a card. */
export function panelOf(family: FamilyName): number {
  return PANELS.indexOf(family);
}

/** Shows the list of a field in its card. */
export function chooseList(family: FamilyName, field: string): void {
  dispatch({ type: "list_chosen", family, field });
}

/** Sorts the list of a field by a column; by the measure if that is `null`. */
export function sortList(field: string, sort: Sort | null): void {
  dispatch({ type: "list_sorted", field, sort });
}

/** The field whose list a card shows. */
export function shownField({ name, fields }: Family): string {
  const chosen = families.value.chosen[name];
  return chosen !== undefined && fields.includes(chosen) ? chosen : fields[0]!;
}

/** The cards of a view. */
export function familiesOfView({ report, derived }: View): Family[] {
  // A field with one value below a filter may have others.
  const listed = families.value.known?.listed ?? fieldsWithValues(report);
  const derivedFields = report.kind === "request" ? derived : derived.filter(isOfAnyKind);
  return familiesOf([...listed, ...derivedFields], wordsOf(report).leading_fields);
}

/** Derived fields that records of each kind may have. */
function isOfAnyKind(field: string): boolean {
  return isInOrder(field) || ["network", "country", "city", "asn_name"].includes(field);
}

/** Whether the rows of a list are not those of the view: it is derived, or has another order or filter. */
export function isOwn(field: string, { derived, report }: View, question: Question): boolean {
  const measure = shownMeasure(report, question.measure);
  const sort = ownValue(families.value.sorts, field) ?? measure;
  return derived.includes(field) || sort !== "requests" || hasChosen(question, field);
}

/** A list that a card needs: its field, and the question whose values it shows. */
interface Wanted {
  field: string;
  question: Question;
  part: ListPart;
}

/** The shortest time between two questions of a list whose spans alone have changed. */
const SPANS_MS = 2_000;

/** The points of the line of a row. */
const POINTS = 40;

/** Asks for lists whenever the question changes or another list is chosen. */
export function followLists(): void {
  effect(rememberFields);
  const asked = new Map<number, { key: string; at_ms: number }>();
  let query = 0;
  effect(() => {
    const wanted = wantedLists();
    // A new question is answered by a view first, which has the time that the lines span.
    if (wanted === null) return;
    for (const panel of PANELS.keys()) {
      const list = wanted.get(panel) ?? null;
      const key = list === null ? "" : JSON.stringify([state.value.session, list]);
      const last = asked.get(panel) ?? { key: "", at_ms: 0 };
      const now_ms = performance.now();
      if (!isDue(key, last.key, now_ms - last.at_ms)) continue;
      asked.set(panel, { key, at_ms: now_ms });
      query += 1;
      askFor(panel, query, list);
    }
  });
}

/** Whether a question is asked, some time after the one before; the spans change while data grows. */
function isDue(key: string, last: string, since_ms: number): boolean {
  if (key === last) return false;
  if (since_ms >= SPANS_MS || (view.peek()?.complete ?? true)) return true;
  const without = (text: string) => text.replace(/"bounds":\[[^\]]*\]/, "");
  return without(key) !== without(last);
}

/** The lists that the cards on the screen need, by their numbers; `null` until that is known. */
function wantedLists(): Map<number, Wanted> | null {
  const { question, connection, session } = state.value;
  const shown = view.value;
  const wanted = new Map<number, Wanted>();
  const isOpen = connection === "open" && session !== null && tab.value === "overview";
  if (!isOpen || shown === null) return wanted;
  if (awaiting.value) return null;
  const { report } = shown;
  const measure = shownMeasure(report, question.measure);
  const bounds = pointsOf(report);
  for (const family of familiesOfView(shown)) {
    const field = shownField(family);
    const part = { ...orderOf(report, field, measure), bounds };
    wanted.set(panelOf(family.name), {
      field,
      question: ownQuestion(question, field, shown),
      part,
    });
  }
  return wanted;
}

/** What a list asks of its values, and their order on the server. */
function orderOf(report: Report, field: string, measure: Measure): ListPart {
  const time = durationOf(report);
  const sort = ownValue(families.value.sorts, field) ?? measure;
  return {
    group: field,
    sort: sort === "error_rate" ? sort : serverName(report, sort),
    measures: time === null ? ["requests"] : ["requests", percentileOf(time)],
  };
}

/** The bounds of as many spans as a line has points, over the time of the chart. */
function pointsOf({ histogram }: Report): number[] {
  const bounds = histogram ? boundsOf(histogram) : [];
  const [first, last] = [bounds[0], bounds.at(-1)];
  if (first === undefined || last === undefined || last <= first) return [];
  const points = Math.min(POINTS, last - first);
  return Array.from({ length: points + 1 }, (_, at) =>
    Math.round(first + ((last - first) * at) / points),
  );
}

function askFor(panel: number, query: number, list: Wanted | null): void {
  if (list === null) {
    askList(panel, query, null);
    dispatch({ type: "list_ended", panel });
  } else {
    askList(panel, query, list.question, list.part);
    const { field, part, question } = list;
    const order = JSON.stringify([part.sort, question.kind]);
    dispatch({ type: "list_asked", panel, query, field, order });
  }
}

/**
 * The question of a list: without the values of its own field that are included. A list of a field that
 * the log has leaves out the records without it, so it may need one row more.
 */
function ownQuestion(question: Question, field: string, { derived }: View): Question {
  const top = question.top + (derived.includes(field) ? 0 : 1);
  return { ...withoutChosen(question, field), top: isInOrder(field) ? IN_ORDER_MAX : top };
}

/** Remembers the fields of the log while nothing is filtered, so that no card changes its lists. */
function rememberFields(): void {
  const { answered } = state.value;
  const shown = view.value;
  if (shown === null || answered === null || hasFilter(answered)) return;
  const known = knownFields(shown.report);
  if (JSON.stringify(known) !== JSON.stringify(families.peek().known)) {
    dispatch({ type: "fields_known", known });
  }
}
