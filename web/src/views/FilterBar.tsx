import { filterBy } from "../control/questions";
import { recordsOfKind } from "../format/kind";
import { count } from "../format/number";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import { type Chip, chipsOf } from "../state/chips";
import { hasFilter } from "../state/state";
import { draft, question } from "../state/store";
import { edit } from "./editing";
import { FilterBox } from "./FilterBox";
import { LogText } from "./LogText";

/** Values that a chip lists; it counts the others. */
const VALUES_SHOWN = 3;

/** The filter: the current conditions, a box for a new one, and the number of matches. */
export function FilterBar({ report }: { report: Report }) {
  return (
    <section class="filters" aria-label="Filters">
      <svg class="search-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="7" cy="7" r="4.5" />
        <path d="m10.5 10.5 3.5 3.5" />
      </svg>
      <Chips chips={chipsOf(question.value)} />
      <FilterBox report={report} />
      {hasFilter(question.value) && <Matches report={report} />}
    </section>
  );
}

/** The current conditions, each with a button that removes it. */
function Chips({ chips }: { chips: Chip[] }) {
  if (chips.length === 0) return null;
  return (
    <ul class="chips">
      {chips.map((chip) => (
        <ChipView key={chip.key} chip={chip} />
      ))}
    </ul>
  );
}

/** How many records match, and the button that removes all conditions. */
function Matches({ report }: { report: Report }) {
  return (
    <>
      <span class="matches" data-testid="matches">
        <b>{count(report.matching)}</b>
        <span class="matches-all"> of {count(recordsOfKind(report))}</span>
      </span>
      <button
        type="button"
        class="button small quiet"
        data-testid="clear-filters"
        title="Removes all conditions. Esc or Back undoes the last step alone."
        onClick={() => filterBy([], [])}
      >
        Clear
      </button>
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
