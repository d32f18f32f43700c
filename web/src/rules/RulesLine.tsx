import { OWN } from "../state/rules";
import { rules } from "../state/store";
import { focusWhenThere } from "../views/whenThere";
import { choose } from "../views/work";
import { briefText } from "./words";

/** The id of the panel, to which the line links. */
export const PANEL_ID = "rules-panel";

const REPLAYING = "1 rule, which is being replayed";
const REFUSED = "1 rule, which cannot be replayed";

/** Shows the tab of the rules, and leads the focus there. */
export function showPanel(): void {
  choose("rules");
  focusWhenThere(() => document.getElementById(PANEL_ID));
}

/** The answer of the panel in a line, beside the tabs. */
export function RulesLine() {
  const { answer, text, refusal } = rules.value.panels[OWN];
  if (text === null) return null;
  const show = (event: MouseEvent) => {
    // Not by the fragment of the address, which holds the rule.
    event.preventDefault();
    showPanel();
  };
  return (
    <p class="rules-line">
      <a href={`#${PANEL_ID}`} data-testid="rules-line" onClick={show}>
        {answer !== null ? briefText(answer) : refusal !== null ? REFUSED : REPLAYING}
      </a>
    </p>
  );
}
