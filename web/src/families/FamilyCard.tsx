import { compact, count, lowerBound } from "../format/number";
import { visible } from "../format/text";
import type { View } from "../generated/View";
import type { AskedList } from "../state/families";
import type { Question } from "../state/state";
import { families } from "../state/store";
import { Estimate, TopList, type Values, valuesOfList, valuesOfReport } from "../views/TopList";
import { tabOfKey } from "../views/tabKeys";
import { chooseList, isAsked, panelOf, shownField } from "./control";
import { type Family, inOrder, isInOrder } from "./families";
import { listTitle } from "./titles";

interface Props {
  family: Family;
  view: View;
  /** The question on the screen. */
  shown: Question;
}

/** A card with lists, of which one is shown. */
export function FamilyCard({ family, view, shown }: Props) {
  const field = shownField(family);
  const asked = families.value.lists[panelOf(family.name)];
  const list = asked?.field === field ? asked : undefined;
  const isOwn = isAsked(field, view, shown);
  const values = valuesOf(field, view, isOwn ? list : undefined, isOwn);
  const head = (
    <header class="family-head">
      <h2>{family.title}</h2>
      <Lists family={family} view={view} chosen={field} values={values} />
      {values.isEstimated && <Estimate />}
    </header>
  );
  return (
    <div class="family" data-testid={`family-${family.name}`}>
      <TopList
        field={field}
        values={values}
        report={view.report}
        head={head}
        isBusy={isOwn && !(list?.isAnswered ?? false)}
        isWhole={isInOrder(field)}
      />
      {isOwn && list?.refusal && <p class="list-refusal bad">{visible(list.refusal)}</p>}
    </div>
  );
}

const NO_VALUES: Values = { rows: [], distinct: undefined, isEstimated: false, matching: 0 };

/** The values of a list: those that were asked for, or those of the view. */
function valuesOf(
  field: string,
  { report }: View,
  list: AskedList | undefined,
  isOwn: boolean,
): Values {
  if (!isOwn) return valuesOfReport(report, field);
  const answer = list?.answer;
  // Until the answer arrives, a list of the log has the values that match its own condition.
  if (!answer) return report.top[field] ? valuesOfReport(report, field) : NO_VALUES;
  const values = valuesOfList(answer);
  return isInOrder(field) ? { ...values, rows: inOrder(values.rows) } : values;
}

interface ListsProps {
  family: Family;
  view: View;
  chosen: string;
  values: Values;
}

/** The names of the lists of a card, each with its number of values. */
function Lists({ family, view, chosen, values }: ListsProps) {
  const { name, fields, title } = family;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = tabOfKey(event.key, fields.indexOf(chosen), fields.length);
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    chooseList(name, fields[to]!);
    const tabs = (event.currentTarget as HTMLElement).children;
    (tabs[to] as HTMLElement | undefined)?.focus();
  };
  return (
    <div role="tablist" aria-label={title} class="family-tabs" onKeyDown={onKeyDown}>
      {fields.map((field) => (
        <button
          key={field}
          type="button"
          role="tab"
          class="family-tab"
          data-testid={`list-${field}`}
          data-derived={view.derived.includes(field) || undefined}
          aria-selected={field === chosen}
          tabIndex={field === chosen ? 0 : -1}
          onClick={() => chooseList(name, field)}
        >
          {listTitle(field)}
          <Distinct of={field} view={view} own={field === chosen ? values.distinct : undefined} />
        </button>
      ))}
    </div>
  );
}

/** The number of values of a list, as far as it is known. */
function Distinct({ of, view, own }: { of: string; view: View; own: number | undefined }) {
  const distinct = own ?? view.report.distinct[of];
  if (distinct === undefined) return null;
  const isLeast = view.report.estimated.includes(of);
  return (
    <span class="family-count" title={lowerBound(count(distinct), isLeast)}>
      {lowerBound(compact(distinct), isLeast)}
    </span>
  );
}
