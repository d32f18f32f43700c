/** Asks for the lists that the cards show and that no view has. */

import { effect } from "@preact/signals";
import { askList } from "../control/live";
import { wordsOf } from "../format/kind";
import type { View } from "../generated/View";
import { hasChosen, withoutChosen } from "../state/choice";
import { hasFilter, type Question } from "../state/state";
import { dispatch, families, state, tab, view } from "../state/store";
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

/** Whether the list of a field has to be asked for: it is derived, or ignores its own condition. */
export function isAsked(field: string, { derived }: View, question: Question): boolean {
  return derived.includes(field) || hasChosen(question, field);
}

/** A list that a card needs: its field, and the question whose values it shows. */
interface Wanted {
  field: string;
  question: Question;
}

/** Asks for lists whenever the question changes or another list is chosen. */
export function followLists(): void {
  effect(rememberFields);
  const asked = new Map<number, string>();
  let query = 0;
  effect(() => {
    const wanted = wantedLists();
    for (const panel of PANELS.keys()) {
      const list = wanted.get(panel) ?? null;
      const key = list === null ? "" : JSON.stringify([state.value.session, list]);
      if (key === (asked.get(panel) ?? "")) continue;
      asked.set(panel, key);
      query += 1;
      askFor(panel, query, list);
    }
  });
}

/** The lists that the cards on the screen need, by their numbers. */
function wantedLists(): Map<number, Wanted> {
  const { question, connection, session } = state.value;
  const shown = view.value;
  const wanted = new Map<number, Wanted>();
  const isOpen = connection === "open" && session !== null && tab.value === "overview";
  if (!isOpen || shown === null) return wanted;
  for (const family of familiesOfView(shown)) {
    const field = shownField(family);
    if (!isAsked(field, shown, question)) continue;
    wanted.set(panelOf(family.name), { field, question: ownQuestion(question, field) });
  }
  return wanted;
}

function askFor(panel: number, query: number, list: Wanted | null): void {
  if (list === null) {
    askList(panel, query, null);
    dispatch({ type: "list_ended", panel });
  } else {
    askList(panel, query, list.question, list.field);
    dispatch({ type: "list_asked", panel, query, field: list.field });
  }
}

/** The question of a list: without the values of its own field that are included. */
function ownQuestion(question: Question, field: string): Question {
  const top = isInOrder(field) ? IN_ORDER_MAX : question.top;
  return { ...withoutChosen(question, field), top };
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
