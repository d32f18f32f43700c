import { visible } from "../format/text";
import type { RuleNote } from "../generated/RuleNote";
import type { RulesAnswer } from "../generated/RulesAnswer";
import { OTHER, OWN, type Slot } from "../state/rules";
import { hasFilter } from "../state/state";
import { question, rules } from "../state/store";
import { NetworksBox } from "./Collateral";
import { Comparison } from "./Comparison";
import { cancelReplay, filterRules } from "./control";
import { LinesAgain } from "./LinesAgain";
import { RuleBox } from "./RuleBox";
import { RuleResult } from "./RuleResult";
import { PANEL_ID } from "./RulesLine";
import { CAVEAT, keyWords } from "./words";

/** The panel that replays the requests through a rule. */
export function RulesPanel() {
  const { text, answer, isAnswered } = rules.value.panels[OWN];
  const { hasOther } = rules.value.lab;
  const comparison = hasOther ? rules.value.panels[OTHER].answer?.comparison : undefined;
  return (
    <section id={PANEL_ID} class="panel rules" aria-label="Rules" tabIndex={-1} data-testid="rules">
      <h2 class="visually-hidden">Rules</h2>
      {text === null && (
        <p class="soft">Which clients would a rate limit reject, and how close did others come?</p>
      )}
      {comparison && answer !== null && (
        <Comparison comparison={comparison} noun={nounOf(answer)} />
      )}
      <div class={hasOther ? "rules-columns" : ""}>
        <div class="rules-column">
          {hasOther && <h3>This rule</h3>}
          <RuleBox isFresh={false} />
          <Replay slot={OWN} />
          <FilterSwitch />
          {answer !== null && <NetworksBox />}
          <Answer answer={answer} isAnswered={isAnswered} slot={OWN} />
        </div>
        {hasOther && <OtherColumn />}
      </div>
    </section>
  );
}

/** The word for the keys of all rules of a text. */
function nounOf({ rules }: RulesAnswer) {
  const nouns = rules.map(({ rule }) => keyWords(rule));
  return nouns.find(({ one }) => one !== "client") ?? nouns[0] ?? { one: "key", many: "keys" };
}

/** The rule that is compared with that of the panel. */
function OtherColumn() {
  const { text, answer, isAnswered } = rules.value.panels[OTHER];
  return (
    <div class="rules-column" data-testid="other-rule">
      <h3>Other rule</h3>
      <RuleBox isFresh={text === null} slot={OTHER} />
      <Replay slot={OTHER} />
      <Answer answer={answer} isAnswered={isAnswered} slot={OTHER} />
    </div>
  );
}

/** The replay of a rule while its lines are read again. */
function Replay({ slot }: { slot: Slot }) {
  const { lines } = rules.value.panels[slot];
  return lines && <LinesAgain lines={lines} onCancel={() => cancelReplay(slot)} />;
}

interface AnswerProps {
  answer: RulesAnswer | null;
  isAnswered: boolean;
  slot: Slot;
}

function Answer({ answer, isAnswered, slot }: AnswerProps) {
  if (answer === null) return null;
  return (
    <div
      class="rules-answer"
      aria-busy={!isAnswered}
      data-testid={slot === OWN ? "rules-answer" : "other-answer"}
    >
      <Notes notes={answer.notes} />
      {answer.rules.map((one, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rules are told apart by their places
        <RuleResult key={at} answer={one} hasName={answer.rules.length > 1} slot={slot} />
      ))}
      <p class="hint">
        {CAVEAT} {!answer.complete && "The log is still being read."}
      </p>
    </div>
  );
}

/** Whether the rule sees all requests or those of the filter. */
function FilterSwitch() {
  const { isFiltered } = rules.value.panels[OWN];
  if (!isFiltered && !hasFilter(question.value)) return null;
  return (
    <label class="rules-filter">
      <input
        type="checkbox"
        checked={isFiltered}
        data-testid="rules-filtered"
        onChange={(event) => filterRules(event.currentTarget.checked)}
      />{" "}
      Only requests that the filter selects
    </label>
  );
}

/** Notes on the parts of the text that were not understood. */
function Notes({ notes }: { notes: RuleNote[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes" aria-label="Parts of the rule that were left out">
      {notes.map(({ message, place }) => (
        <li key={place.start}>
          Line {place.line}: {visible(message)}
        </li>
      ))}
    </ul>
  );
}
