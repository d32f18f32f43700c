import { lines } from "../state/store";
import { filteredLines, toggleLines } from "./control";
import { LinesView } from "./LinesView";

/** The id of the panel. */
const PANEL_ID = "lines-panel";

/** A button that opens the lines of the filter. */
export function LinesButton() {
  const { isOpen } = lines.value;
  return (
    <button
      type="button"
      class="button small"
      aria-expanded={isOpen}
      aria-controls={isOpen ? PANEL_ID : undefined}
      data-testid="lines-open"
      onClick={toggleLines}
    >
      Lines
    </button>
  );
}

/** The lines of the records that the filter selects. */
export function LinesPanel() {
  if (!lines.value.isOpen) return null;
  return (
    <section id={PANEL_ID} class="panel lines" aria-label="Lines" data-testid="lines">
      <h2>Lines</h2>
      <LinesView of={filteredLines} id="filtered-line" hasStories />
    </section>
  );
}
