import { count, plural } from "../format/number";
import type { KeySet } from "../generated/KeySet";
import type { RuleComparison } from "../generated/RuleComparison";
import { StoryButton } from "../story/StoryButton";
import { LogText } from "../views/LogText";
import { comparedRequests, isClient } from "./words";

interface Props {
  comparison: RuleComparison;
  noun: { one: string; many: string };
}

/** The keys that both rules catch, or only one of them. */
export function Comparison({ comparison, noun }: Props) {
  const { both, first_only, second_only } = comparison;
  return (
    <section class="comparison" aria-label="Both rules" data-testid="comparison">
      <p>
        <strong>{comparedRequests(comparison)}</strong>
      </p>
      <div class="comparison-sets">
        <Keys set={first_only} title="Only this rule catches" noun={noun} id="first-only" />
        <Keys set={both} title="Both catch" noun={noun} id="both" />
        <Keys set={second_only} title="Only the other catches" noun={noun} id="second-only" />
      </div>
    </section>
  );
}

interface KeysProps {
  set: KeySet;
  title: string;
  noun: { one: string; many: string };
  id: string;
}

function Keys({ set: { keys, list }, title, noun, id }: KeysProps) {
  const head = `${title} ${keys === 0 ? `no ${noun.one}` : plural(keys, noun.one, noun.many)}`;
  if (keys === 0) {
    return (
      <p data-testid={`comparison-${id}`} data-keys="0">
        {head}
      </p>
    );
  }
  return (
    <details data-testid={`comparison-${id}`} data-keys={keys}>
      <summary>{head}</summary>
      <ul>
        {list.map((key) => (
          <li key={key}>
            <LogText value={key} />
            {isClient(key) && <StoryButton value={key} />}
          </li>
        ))}
        {keys > list.length && <li class="muted">and {count(keys - list.length)} more</li>}
      </ul>
    </details>
  );
}
