/** Asks for the lists that the cards show and that no view has. */

import { effect } from "@preact/signals";
import { askList, type ListPart } from "../control/live";
import { wordsOf } from "../format/kind";
import { ownValue } from "../format/ownValue";
import type { GroupRow } from "../generated/GroupRow";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import { boundsOf } from "../measure/chart";
import { durationOf, percentileOf, serverName, shownMeasure } from "../measure/measures";
import { hasChosen, withoutChosen } from "../state/choice";
import type { Sort, Whole } from "../state/families";
import type { Measure } from "../state/measure";
import { hasFilter, type Question } from "../state/state";
import { awaiting, dispatch, draft, families, state, tab, view } from "../state/store";
import { typedValue } from "../state/typed";
import { isWall } from "../state/wall";
import {
  type Family,
  type FamilyName,
  familiesOf,
  fieldsWithValues,
  isInOrder,
  knownFields,
} from "./families";

/** The most characters that can be searched for: the server takes no more. */
export const SEARCH_MAX = 1_000;

/** The most values that are saved: the server lists no more at a time. */
export const SAVED_MAX = 10_000;

/** The number of rows of a list whose rows are in the order of their values: a year of days. */
const IN_ORDER_MAX = 400;

/** The cards in the order of their numbers on the connection. */
const PANELS: readonly FamilyName[] = ["who", "what", "how", "with", "from", "when", "others"];

/** The number of the list whose values are all at hand, or of the one that is typed. */
export const WHOLE_PANEL = PANELS.length;

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

/** A list that the screen needs: its field, and the question whose values it shows. */
interface Wanted {
  field: string;
  /** The rows of a list of another order are not shown in its place. */
  order: string;
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
    for (let panel = 0; panel <= WHOLE_PANEL; panel += 1) {
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

/** The lists that the screen needs, by their numbers; `null` until that is known. */
function wantedLists(): Map<number, Wanted> | null {
  const { question, connection, session } = state.value;
  const shown = view.value;
  const wanted = new Map<number, Wanted>();
  if (connection !== "open" || session === null || shown === null) return wanted;
  if (awaiting.value) return null;
  const { report } = shown;
  const measure = shownMeasure(report, question.measure);
  const bounds = pointsOf(report);
  for (const [panel, field] of fieldsOnScreen(shown)) {
    const part = { ...orderOf(report, field, measure, question), bounds };
    const order = JSON.stringify([part.sort, question.kind]);
    wanted.set(panel, { field, order, question: ownQuestion(question, field, shown), part });
  }
  const { whole } = families.value;
  if (whole !== null) wanted.set(WHOLE_PANEL, wholeOf(whole, shown, question, measure));
  const typed = whole === null ? typedOf(shown, question) : null;
  if (typed !== null) wanted.set(WHOLE_PANEL, typed);
  return wanted;
}

/** The order of a list that is typed. */
const TYPED = "typed";

/** The number of values of which completions are made. */
const TYPED_MAX = 50;

/** The values with which the text in the filter box could go on; `null` if that needs none. */
function typedOf({ report, derived }: View, question: Question): Wanted | null {
  const { text, replaced } = draft.value;
  const value = typedValue(text);
  if (value === null) return null;
  const { field, typed } = value;
  if (ownValue(report.top, field) === undefined && !derived.includes(field)) return null;
  const { clauses, conditions } = replaced?.without ?? question;
  return {
    field,
    order: TYPED,
    question: { ...question, clauses, conditions, top: TYPED_MAX },
    part: { group: field, search: typed.slice(0, SEARCH_MAX) },
  };
}

/** The values that were asked for because of the text in the filter box; `null` until they are there. */
export function listedValues(): { field: string; rows: GroupRow[] } | null {
  const list = families.value.lists[WHOLE_PANEL];
  if (!list?.isAnswered || list.order !== TYPED || list.answer === null) return null;
  return { field: list.field, rows: list.answer.group.rows };
}

/** The fields whose lists the tab shows, by the numbers of the lists. */
function fieldsOnScreen(shown: View): [panel: number, field: string][] {
  if (tab.value === "clients") return [[panelOf("who"), "client"]];
  if (tab.value !== "overview" || isWall.value) return [];
  return familiesOfView(shown).map((family) => [panelOf(family.name), shownField(family)]);
}

/** What a pane with a whole list needs. */
function wholeOf(whole: Whole, { report }: View, question: Question, measure: Measure): Wanted {
  const { field, search, isSaving } = whole;
  const [from, top] = isSaving ? [0, SAVED_MAX] : [whole.from, whole.count];
  return {
    field,
    // It shows the rows before until it has others.
    order: "whole",
    question: { ...withoutChosen(question, field), top },
    part: { ...orderOf(report, field, measure, question), from, search },
  };
}

/** What a list asks of its values, and their order on the server. */
function orderOf(report: Report, field: string, measure: Measure, question: Question): ListPart {
  const time = durationOf(report, question);
  const sort = ownValue(families.value.sorts, field) ?? measure;
  return {
    group: field,
    sort: sort === "error_rate" ? sort : serverName(report, sort, question),
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
    const { field, order, part } = list;
    dispatch({ type: "list_asked", panel, list: { query, field, order, from: part.from ?? 0 } });
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
