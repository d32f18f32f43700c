import { help } from "../state/store";
import { partOf, usePart } from "../views/part";
import { closeHelp, showHelp } from "./control";

const pane = partOf(() => import("./index"));

/** Shows the help, or closes it. */
export function HelpButton() {
  const isShown = help.value;
  return (
    <button
      type="button"
      class="button quiet help-button in-wide"
      aria-label="Help: conditions and keys"
      title="Conditions and keys (?)"
      aria-expanded={isShown}
      data-testid="help-open"
      onClick={() => (isShown ? closeHelp() : showHelp())}
    >
      ?
    </button>
  );
}

/** The help, if it is shown. */
export function Help() {
  const shown = usePart(pane, help.value);
  return shown && <shown.HelpPane />;
}
