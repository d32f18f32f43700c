import { OWN } from "../state/rules";
import { rules } from "../state/store";
import { briefText } from "./words";

/** The id of the panel, to which the line links. */
export const PANEL_ID = "rules-panel";

const REPLAYING = "1 rule, which is being replayed";
const REFUSED = "1 rule, which cannot be replayed";

/** Brings the panel into view. */
export function showPanel(): void {
  const section = document.getElementById(PANEL_ID);
  section?.scrollIntoView({ block: "start" });
  section?.focus({ preventScroll: true });
}

/** The answer of the panel in a line, on the first screen. */
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
