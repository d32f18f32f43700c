import { useLayoutEffect, useRef } from "preact/hooks";
import { countTyped, stopCount } from "../control/live";
import { attempt } from "../control/questions";
import { selectionText } from "../format/kind";
import { visible } from "../format/text";
import type { ConditionPlace } from "../generated/ConditionPlace";
import type { Report } from "../generated/Report";
import { draft, question, state, typedCount } from "../state/store";
import { completionsOf } from "../state/typed";
import { clearDraft, refuseDraft, setText } from "./editing";

/** A text box for conditions. */
export function FilterBox({ report }: { report: Report }) {
  const input = useRef<HTMLInputElement>(null);
  const { text, replaced, refusal, place } = draft.value;
  // Effects of the same render: in a later frame, keys that follow a click would go elsewhere.
  useLayoutEffect(() => {
    if (replaced === null) return;
    input.current?.focus();
    input.current?.select();
  }, [replaced]);
  useLayoutEffect(() => clearDraft, []);
  const without = replaced?.without ?? question.value;
  const isCounted = text.trim() !== "" && refusal === null;
  useLayoutEffect(() => {
    const { clauses, conditions } = without;
    const typed = { ...state.value.question, clauses, conditions: [...conditions, text] };
    countTyped(isCounted ? typed : null);
  }, [text, without, isCounted]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    stopCount();
    const submitted = draft.peek();
    const { clauses, conditions: before } = replaced?.without ?? state.value.question;
    const outcome = await attempt({ clauses, conditions: [...before, text] });
    // The answer is not about a text that was changed meanwhile.
    if (draft.peek() !== submitted) return;
    if (outcome.isAccepted) return clearDraft();
    // Another condition can only be refused if the log has changed.
    const own = outcome.place?.condition === before.length ? outcome.place : null;
    refuseDraft(outcome.refusal, own);
    if (own !== null) input.current?.setSelectionRange(...unitsOf(text, own));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    // Here Escape clears the text instead of undoing the last step.
    event.preventDefault();
    if (text === "" && refusal === null) input.current?.blur();
    clearDraft();
  };
  return (
    <>
      <form class="filter-box" onSubmit={(event) => void submit(event)}>
        <input
          ref={input}
          id={FILTER_BOX}
          type="text"
          list="filter-completions"
          value={text}
          placeholder="Filter: status=4xx and not googlebot"
          title="A condition, such as status=404 or a word. / leads here, ? shows how they are written"
          aria-label="Add a condition"
          aria-invalid={refusal !== null}
          aria-describedby={refusal !== null ? "filter-refusal" : undefined}
          autoComplete="off"
          autoCapitalize="off"
          spellcheck={false}
          data-testid="filter-box"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <datalist id="filter-completions">
          {completionsOf(text, report).map((completion) => (
            <option key={completion} value={completion} />
          ))}
        </datalist>
        {refusal !== null && (
          <p class="refusal" id="filter-refusal" role="alert" data-testid="filter-refusal">
            {refusal.split("\n").map(visible).join("\n")}
            {place !== null && <Marked text={text} place={place} />}
          </p>
        )}
      </form>
      {isCounted && <TypedCount />}
    </>
  );
}

/** What the text would select, once the server has counted it. */
function TypedCount() {
  const count = typedCount.value;
  return (
    <output class="typed-count" data-testid="typed-count">
      {count && selectionText(count)}
    </output>
  );
}

/** The text with a mark at the refused part, or at the place where something is missing. */
function Marked({ text, place }: { text: string; place: ConditionPlace }) {
  const characters = [...text];
  const part = (start: number, end?: number) => visible(characters.slice(start, end).join(""));
  return (
    <span class="marked" data-testid="filter-mark">
      {part(0, place.start)}
      <mark>{part(place.start, place.end) || " "}</mark>
      {part(place.end)}
    </span>
  );
}

/** The place in the units of JavaScript strings: a character may have two. */
function unitsOf(text: string, { start, end }: ConditionPlace): [number, number] {
  const characters = [...text];
  const units = (count: number) => characters.slice(0, count).join("").length;
  return [units(start), units(end)];
}

const FILTER_BOX = "filter-box";

/** Focuses the box and returns whether there is one. */
export function focusFilterBox(): boolean {
  const box = document.getElementById(FILTER_BOX);
  box?.focus();
  return box !== null;
}
