/** Changes of the question: filter, kind of records, stacking, list length and time zone. */

import type { Clause } from "../generated/Clause";
import type { Failure } from "../generated/Failure";
import type { View } from "../generated/View";
import { sameClauses } from "../state/filter";
import {
  canAsk,
  DEFAULT_QUESTION,
  type Question,
  type Trial,
  type TrialOutcome,
} from "../state/state";
import { dispatch, state } from "../state/store";
import { searchOf } from "../state/url";
import { depth, pushQuestion, replaceQuestion } from "./history";
import { refusalOfLength, send } from "./live";

type Refusal = Pick<Failure, "message" | "place">;

const UNANSWERED =
  "Weir does not answer, so nothing was changed: the numbers are those from before.";

const CANCELLED: TrialOutcome = { isAccepted: false, refusal: null, place: null };
const ACCEPTED: TrialOutcome = { isAccepted: true, refusal: null, place: null };

/** Sends the current question. */
export function ask(): void {
  send(state.value.question);
}

/** Changes the filter, as one step that Back undoes. */
export function filterBy(
  clauses: Clause[],
  conditions: string[] = state.value.question.conditions,
): void {
  const { question } = state.value;
  const isSame =
    sameClauses(clauses, question.clauses) &&
    conditions.join("\n") === question.conditions.join("\n");
  if (!isSame) change({ clauses, conditions });
}

/**
 * Changes the question, as one step that Back undoes. Returns false and changes nothing if the
 * server does not answer: the numbers on the screen would not be those of the new question. The
 * same holds for a question that is too long.
 */
export function change(part: Partial<Question>): boolean {
  if (!isAnswering()) return false;
  const question = { ...state.value.question, ...part };
  const refusal = refusalOfLength(question);
  if (refusal !== null) {
    dispatch({ type: "notice", message: refusal });
    return false;
  }
  endTrial(CANCELLED);
  step(question);
  ask();
  return true;
}

/** Whether the server answers. If it does not, a notice is shown. */
function isAnswering(): boolean {
  if (canAsk(state.value)) return true;
  dispatch({ type: "notice", message: UNANSWERED });
  return false;
}

/**
 * Changes the question if the server accepts it. The current question stays until the answer
 * arrives, and remains if the server refuses.
 */
export function attempt(part: Partial<Question>): Promise<TrialOutcome> {
  if (!canAsk(state.value)) return Promise.resolve({ ...CANCELLED, refusal: UNANSWERED });
  endTrial(CANCELLED);
  const current = state.value.question;
  const question = { ...current, ...part };
  if (searchOf(question) === searchOf(current)) {
    return Promise.resolve(ACCEPTED);
  }
  const refusal = refusalOfLength(question);
  if (refusal !== null) return Promise.resolve({ ...CANCELLED, refusal });
  send(question);
  const query = state.value.asked;
  dispatch({ type: "trial", trial: { query, question, outcome: null } });
  return outcomeOf(query);
}

/** Undoes the last step; without one, as in a shared address, drops the last clause. */
export function undo(): void {
  const { clauses, conditions } = state.value.question;
  if (depth() > 0) history.back();
  else if (conditions.length > 0) filterBy(clauses, conditions.slice(0, -1));
  else if (clauses.length > 0) filterBy(clauses.slice(0, -1));
  else if (state.value.refusal !== null) change(DEFAULT_QUESTION);
}

/** Replaces the question by that of the address, without a step. */
export function followQuestion(question: Question): void {
  endTrial(CANCELLED);
  dispatch({ type: "question", question });
}

/** Goes back to the question that the numbers on the screen answer: the connection is lost. */
export function keepAnswered(): void {
  endTrial(CANCELLED);
  showAddress();
  ask();
}

/** Refuses a step back or forward. */
export function refuseStep(): void {
  isAnswering();
  showAddress();
}

/** Makes the address that of the current question, without a step. */
function showAddress(): void {
  replaceQuestion(state.value.session, state.value.question);
}

/** Makes the question of a trial the current one if `view` answers it. */
export function acceptTrial(view: View): void {
  const trial = runningTrial();
  if (trial?.query !== view.query) return;
  step({ ...trial.question, ...view.filter });
  endTrial(ACCEPTED);
}

/** Handles the server's refusal of a question, unless the question was replaced meanwhile. */
export function refuse({ message, place: found }: Refusal, query: number | null): void {
  if (query !== null && query !== state.value.asked) return;
  const place = found ?? null;
  if (runningTrial()) {
    endTrial({ isAccepted: false, refusal: message, place });
    // A new connection must repeat the current question, not the refused one.
    ask();
    return;
  }
  const text = place && state.value.question.conditions[place.condition];
  dispatch({ type: "refused", message: text ? `${text}: ${message}.` : message });
  // A shared address may hold an invalid question: show the data without it.
  if (state.value.view === null) send(DEFAULT_QUESTION);
}

function step(question: Question): void {
  pushQuestion(state.value.session, question, depth() + 1);
  dispatch({ type: "question", question });
}

function runningTrial(): Trial | null {
  const { trial } = state.value;
  return trial?.outcome === null ? trial : null;
}

function endTrial(outcome: TrialOutcome): void {
  const trial = runningTrial();
  if (trial) dispatch({ type: "trial", trial: { ...trial, outcome } });
}

/** Resolves when the trial of a query ends. */
function outcomeOf(query: number): Promise<TrialOutcome> {
  return new Promise((resolve) => {
    const stop = state.subscribe(({ trial }) => {
      const outcome = trial?.query === query ? trial.outcome : CANCELLED;
      if (outcome === null) return;
      stop();
      resolve(outcome);
    });
  });
}
