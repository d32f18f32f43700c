import { compact, count, lowerBound } from "../format/number";
import { ownValue } from "../format/ownValue";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { View } from "../generated/View";
import { hasMeasure, headOf, shownMeasure } from "../measure/measures";
import type { AskedList, Sort } from "../state/families";
import type { Measure } from "../state/measure";
import type { Question } from "../state/state";
import { families, question } from "../state/store";
import { Icon } from "../views/icons";
import { Estimate, TopList, type Values, valuesOfReport } from "../views/TopList";
import type { Columns, Value } from "../views/TopRow";
import { tabOfKey } from "../views/tabKeys";
import { chooseList, isOwn, panelOf, shownField, sortList } from "./control";
import { type Family, inOrder, isInOrder } from "./families";
import { listTitle } from "./titles";
import { openWhole } from "./whole";

interface Props {
  family: Family;
  view: View;
  /** The question on the screen. */
  shown: Question;
  /** Whether it is the card of a narrow window, which shows one. */
  isPicked: boolean;
}

/** A card with lists, of which one is shown. */
export function FamilyCard({ family, view, shown, isPicked }: Props) {
  const field = shownField(family);
  const { report } = view;
  const { list, values, columns } = knownList(field, panelOf(family.name), view, shown);
  const head = (
    <>
      <header class="family-head">
        <h2>{family.title}</h2>
        <Lists family={family} view={view} chosen={field} values={values} />
        {values.isEstimated && <Estimate />}
        <WholeButton field={field} title={listTitle(field, view.derived)} />
      </header>
      <Heads
        field={field}
        title={listTitle(field, view.derived)}
        columns={columns}
        report={report}
        isSortable={!isInOrder(field)}
      />
    </>
  );
  return (
    <div class={isPicked ? "family picked" : "family"} data-testid={`family-${family.name}`}>
      <TopList
        field={field}
        values={values}
        columns={columns}
        report={report}
        head={head}
        isBusy={list !== undefined && !list.isAnswered}
        isWhole={isInOrder(field)}
      />
      {list?.refusal && <p class="list-refusal bad">{visible(list.refusal)}</p>}
    </div>
  );
}

/** What a list shows: what was asked for it, its values and its columns. */
export function knownList(field: string, panel: number, view: View, shown: Question) {
  const asked = families.value.lists[panel];
  const list = asked?.field === field ? asked : undefined;
  const values = valuesOf(field, view, list, isOwn(field, view, shown));
  const columns = columnsOf(view.report, shownMeasure(view.report, shown.measure));
  return { list, values, columns };
}

/** Opens the pane with all values of a list. */
export function WholeButton({ field, title }: { field: string; title: string }) {
  return (
    <button
      type="button"
      class="button quiet icon list-whole"
      aria-label={`All ${title}: search, sort, save`}
      title="All values: search, sort, save"
      data-testid={`whole-${field}`}
      onClick={() => openWhole(field)}
    >
      <Icon name="search" />
    </button>
  );
}

/** The columns of a list while a measure is shown. */
export function columnsOf(report: Report, measure: Measure): Columns {
  return {
    measure,
    hasErrors: hasMeasure(report, "errors") && measure !== "errors",
    hasTime: hasMeasure(report, "time") && measure !== "time",
    hasLine: report.histogram !== undefined && report.histogram !== null,
  };
}

const NO_VALUES: Omit<Values, "sums"> = { rows: [], distinct: undefined, isEstimated: false };

/**
 * The values of a list: those that were asked for, or those of the view, which come first. These get
 * what only the others have.
 */
function valuesOf(
  field: string,
  { report, derived }: View,
  list: AskedList | undefined,
  isOwn: boolean,
): Values {
  const known = ownValue(report.top, field)
    ? valuesOfReport(report, field)
    : { ...NO_VALUES, sums: report };
  const answer = list?.answer;
  if (!answer) return known;
  const { group, over_time = [], values: distinct, estimated: isEstimated = false } = answer;
  const rows: Value[] = group.rows.map((row, at) => ({ ...row, overTime: over_time[at] }));
  if (!isOwn) return { ...known, rows: withFurther(known.rows, rows) };
  if (isInOrder(field)) return { rows: inOrder(rows), distinct, isEstimated, sums: answer };
  const isShown = (row: Value) => derived.includes(field) || !row.absent;
  const shown = rows.filter(isShown).slice(0, question.value.top);
  return { rows: shown, distinct, isEstimated, sums: answer };
}

/** Rows with the measures and the lines of the same values in other rows. */
function withFurther(rows: readonly Value[], further: readonly Value[]): Value[] {
  const keyOf = (row: Value) => row.value_hex ?? `${row.remainder ?? row.absent} ${row.value}`;
  const known = new Map(further.map((row) => [keyOf(row), row]));
  return rows.map((row) => {
    const { measures, overTime } = known.get(keyOf(row)) ?? {};
    return { ...row, ...(measures && { measures }), overTime };
  });
}

interface HeadsProps {
  field: string;
  title: string;
  columns: Columns;
  report: Report;
  isSortable: boolean;
}

/** The heads of the columns, which sort the list. */
export function Heads({ field, title, columns, report, isSortable }: HeadsProps) {
  const { measure, hasErrors, hasTime, hasLine } = columns;
  const chosen = ownValue(families.value.sorts, field) ?? null;
  const head = (sort: Sort | null, name: string, place: string) =>
    isSortable ? (
      <button
        type="button"
        class={`list-sort ${place}`}
        data-testid={`sort-${sort ?? "measure"}`}
        aria-pressed={chosen === sort}
        aria-label={`Sort ${title} by ${name}`}
        onClick={() => sortList(field, sort)}
      >
        {name}
      </button>
    ) : (
      <span class={place}>{name}</span>
    );
  return (
    <div class="list-heads">
      <div class="numbers">
        {head(null, headOf(report, measure), "top-count")}
        <span class="top-share">{measure === "time" ? "" : "share"}</span>
        {hasLine && <span class="spark" />}
        {hasErrors && head("error_rate", "Errors", "top-errors-share")}
        {hasTime && head("time", "p95", "top-time")}
      </div>
    </div>
  );
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
          {listTitle(field, view.derived)}
          <Distinct of={field} view={view} own={field === chosen ? values.distinct : undefined} />
        </button>
      ))}
    </div>
  );
}

/** The number of values of a list, as far as it is known. */
function Distinct({ of, view, own }: { of: string; view: View; own: number | undefined }) {
  const distinct = own ?? ownValue(view.report.distinct, of);
  if (distinct === undefined) return null;
  const isLeast = view.report.estimated.includes(of);
  return (
    <span class="family-count" title={lowerBound(count(distinct), isLeast)}>
      {lowerBound(compact(distinct), isLeast)}
    </span>
  );
}
