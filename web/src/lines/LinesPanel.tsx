import { filteredLines } from "./control";
import { LinesView } from "./LinesView";

/** The lines of the records that the filter selects. */
export function LinesPanel() {
  return (
    <section class="panel lines" aria-label="Lines" data-testid="lines">
      <h2 class="visually-hidden">Lines</h2>
      <LinesView of={filteredLines} id="filtered-line" isWhole />
    </section>
  );
}
