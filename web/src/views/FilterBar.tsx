import { filterBy } from "../control";
import { visible } from "../format/text";
import { chipsOf, type Chip } from "../state/chips";
import { isAwaiting, state } from "../state/store";
import { LogText } from "./LogText";

/** Values that a chip names before it only counts them. */
const VALUES_SHOWN = 3;

/** The conditions in force, each with a button that drops it. */
export function FilterBar() {
  const { question } = state.value;
  const chips = chipsOf(question.clauses);
  if (chips.length === 0) return null;
  return (
    <section class="filters" aria-label="Filters" aria-busy={isAwaiting(state.value)}>
      <ul class="chips">
        {chips.map((chip) => (
          <ChipView key={chip.key} chip={chip} />
        ))}
      </ul>
      <button class="button small" data-testid="clear-filters" onClick={() => filterBy([])}>
        Clear all
      </button>
      <span class="hint">
        <kbd>Esc</kbd> or Back undoes the last step
      </span>
    </section>
  );
}

function ChipView({ chip }: { chip: Chip }) {
  const values = chip.values.slice(0, VALUES_SHOWN);
  const more = chip.values.length - values.length;
  const title = `${chip.label} ${chip.sign} ${chip.values.map(visible).join(", ")}`;
  return (
    <li class={chip.negative ? "chip negative" : "chip"} data-testid="chip" title={title}>
      <span class="chip-label">
        {chip.label} {chip.sign}
      </span>
      {values.map((value) => (
        <span class="chip-value" key={value}>
          <LogText value={value} title={false} />
        </span>
      ))}
      {more > 0 && <span class="chip-label">and {more} more</span>}
      <button class="chip-remove" data-testid="chip-remove" aria-label={`Remove: ${title}`} onClick={() => filterBy(chip.without)}>
        ×
      </button>
    </li>
  );
}
