import { filterBy } from "../control/questions";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import { LinesButton } from "../lines/LinesPanel";
import { SaveMenu } from "../save/SaveMenu";
import { type Chip, chipsOf } from "../state/chips";
import { draft, question } from "../state/store";
import { withoutLines } from "../state/withoutLines";
import { edit } from "./editing";
import { FilterBox } from "./FilterBox";
import { LogText } from "./LogText";

/** Values that a chip lists; it counts the others. */
const VALUES_SHOWN = 3;

/** A box for a new condition, and the current conditions. */
export function FilterBar({ report }: { report: Report }) {
  return (
    <section class="filters" aria-label="Filters">
      <FilterBox report={report} />
      <Chips chips={chipsOf(question.value)} />
      {!withoutLines.value && <LinesButton />}
      <SaveMenu report={report} />
    </section>
  );
}

/** The current conditions, each with a button that removes it. */
function Chips({ chips }: { chips: Chip[] }) {
  if (chips.length === 0) return null;
  return (
    <>
      <ul class="chips">
        {chips.map((chip) => (
          <ChipView key={chip.key} chip={chip} />
        ))}
      </ul>
      <button
        type="button"
        class="button small"
        data-testid="clear-filters"
        onClick={() => filterBy([], [])}
      >
        Clear all
      </button>
      <span class="hint">
        <kbd>Esc</kbd> or Back undoes the last step
      </span>
    </>
  );
}

/** Whether the text of a condition is in the filter box. */
function isEdited(chip: Chip): boolean {
  return draft.value.replaced?.key === chip.key;
}

function ChipView({ chip }: { chip: Chip }) {
  const values = chip.values.slice(0, VALUES_SHOWN);
  const more = chip.values.length - values.length;
  const listed = chip.values.map(visible).join(", ");
  const title = `${chip.label} ${chip.sign} ${listed}`.trim();
  const classes = ["chip", chip.negative && "negative", isEdited(chip) && "edited"];
  return (
    <li class={classes.filter(Boolean).join(" ")} data-testid="chip" title={title}>
      <button
        type="button"
        class="chip-text"
        data-testid="chip-edit"
        title={`${title}\nClick to edit`}
        onClick={() => edit(chip)}
      >
        {chip.label !== "" && (
          <span class="chip-label">
            {chip.label} {chip.sign}
          </span>
        )}
        {values.map((value) => (
          <span class="chip-value" key={value}>
            <LogText value={value} title={false} edges />
          </span>
        ))}
        {more > 0 && <span class="chip-label">and {more} more</span>}
      </button>
      <button
        type="button"
        class="chip-remove"
        data-testid="chip-remove"
        aria-label={`Remove: ${title}`}
        onClick={() => filterBy(chip.without.clauses, chip.without.conditions)}
      >
        ×
      </button>
    </li>
  );
}
