import { useLayoutEffect, useRef } from "preact/hooks";
import { countTyped, stopCount } from "../control/live";
import { attempt } from "../control/questions";
import { listedValues } from "../families/control";
import { selectionText } from "../format/kind";
import { visible } from "../format/text";
import type { ConditionPlace } from "../generated/ConditionPlace";
import type { Report } from "../generated/Report";
import { draft, question, state, typedCount, view } from "../state/store";
import { type Completion, isWhole, type Known } from "../state/typed";
import { COMPLETIONS, CompletionList, completionId } from "./CompletionList";
import { clearDraft, refuseDraft, setText } from "./editing";
import { useCompletions } from "./useCompletions";

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
  const submit = async () => {
    const submitted = draft.peek();
    if (submitted.text.trim() === "") return;
    stopCount();
    const { clauses, conditions: before } = submitted.replaced?.without ?? state.value.question;
    const outcome = await attempt({ clauses, conditions: [...before, submitted.text] });
    // The answer is not about a text that was changed meanwhile.
    if (draft.peek() !== submitted) return;
    if (outcome.isAccepted) return clearDraft();
    // Another condition can only be refused if the log has changed.
    const own = outcome.place?.condition === before.length ? outcome.place : null;
    refuseDraft(outcome.refusal, own);
    if (own !== null) input.current?.setSelectionRange(...unitsOf(submitted.text, own));
  };
  const choose = (completion: Completion) => {
    setText(completion.text);
    if (completion.isField || !isWhole(completion.text)) return;
    completions.close();
    void submit();
  };
  const completions = useCompletions(text, knownValues(report), choose);
  const { listed, active } = completions;
  const onKeyDown = (event: KeyboardEvent) => {
    if (completions.takeKey(event)) return event.preventDefault();
    if (event.key !== "Escape") return;
    // Here Escape clears the text instead of undoing the last step.
    event.preventDefault();
    if (text === "" && refusal === null) input.current?.blur();
    clearDraft();
  };
  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    completions.close();
    void submit();
  };
  return (
    <>
      <form class="filter-box" onSubmit={onSubmit}>
        <input
          ref={input}
          id={FILTER_BOX}
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={listed.length > 0}
          aria-controls={listed.length > 0 ? COMPLETIONS : undefined}
          aria-activedescendant={active === null ? undefined : completionId(active)}
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
          onInput={(event) => {
            setText(event.currentTarget.value);
            completions.open();
          }}
          onKeyDown={onKeyDown}
          onBlur={completions.close}
        />
        {refusal !== null && <Refusal text={text} refusal={refusal} place={place} />}
      </form>
      {(isCounted || listed.length > 0) && (
        <div class="typed">
          {isCounted && <TypedCount />}
          {listed.length > 0 && <CompletionList listed={listed} active={active} choose={choose} />}
        </div>
      )}
    </>
  );
}

/** What the text can be completed with. */
function knownValues(report: Report): Known {
  return { report, derived: view.value?.derived ?? [], listed: listedValues() };
}

interface RefusalProps {
  text: string;
  refusal: string;
  place: ConditionPlace | null;
}

/** Why the server has refused the text. */
function Refusal({ text, refusal, place }: RefusalProps) {
  return (
    <p class="refusal" id="filter-refusal" role="alert" data-testid="filter-refusal">
      {refusal.split("\n").map(visible).join("\n")}
      {place !== null && <Marked text={text} place={place} />}
    </p>
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

/** Focuses the box and returns whether there is one. What it has is selected, to be replaced or kept. */
export function focusFilterBox(): boolean {
  const box = document.getElementById(FILTER_BOX);
  if (!(box instanceof HTMLInputElement)) return false;
  box.focus();
  box.select();
  return true;
}
