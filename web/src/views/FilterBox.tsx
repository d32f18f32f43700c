import { useRef, useState } from "preact/hooks";
import { attempt } from "../control/questions";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import { question } from "../state/store";
import { completionsOf, parseClause, withClause } from "../state/typed";

const EXAMPLE = "status>=400";
const HELP = "a field, an operator (= != ^= ~ !~ < <= > >=) and a value";

/** A text box for conditions. */
export function FilterBox({ report }: { report: Report }) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [refusal, setRefusal] = useState<string | null>(null);
  const update = (value: string) => {
    setText(value);
    setRefusal(null);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    const clause = parseClause(text);
    if (!clause) return setRefusal(`Write ${HELP}, such as ${EXAMPLE}.`);
    const outcome = await attempt({ clauses: withClause(question.value.clauses, clause) });
    if (outcome.isAccepted) update("");
    else setRefusal(outcome.refusal);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    // Here Escape clears the text instead of undoing the last step.
    event.preventDefault();
    if (text === "" && refusal === null) input.current?.blur();
    update("");
  };
  return (
    <form class="filter-box" onSubmit={(event) => void submit(event)}>
      <input
        ref={input}
        id={FILTER_BOX}
        type="text"
        list="filter-completions"
        value={text}
        placeholder="Filter: status>=400 or path~^/api"
        title={`Add a condition: ${HELP}. Press / to focus this box.`}
        aria-label="Add a condition"
        aria-invalid={refusal !== null}
        aria-describedby={refusal !== null ? "filter-refusal" : undefined}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        data-testid="filter-box"
        onInput={(event) => update(event.currentTarget.value)}
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
        </p>
      )}
    </form>
  );
}

const FILTER_BOX = "filter-box";

/** Focuses the box and returns whether there is one. */
export function focusFilterBox(): boolean {
  const box = document.getElementById(FILTER_BOX);
  box?.focus();
  return box !== null;
}
