import { useEffect, useRef } from "preact/hooks";
import { count, lowerBound } from "../format/number";
import { visible } from "../format/text";
import type { FieldList } from "../generated/FieldList";
import type { View } from "../generated/View";
import { shownMeasure } from "../measure/measures";
import type { AskedList, Whole } from "../state/families";
import { families, question, view } from "../state/store";
import { usePaneFocus } from "../views/focus";
import { Icon } from "../views/icons";
import { TopList } from "../views/TopList";
import { focusWhenThere } from "../views/whenThere";
import { SEARCH_MAX, WHOLE_PANEL } from "./control";
import { columnsOf, Heads } from "./FamilyCard";
import { saveAnswered, saveWhole } from "./saveWhole";
import { listTitle } from "./titles";
import { closeWhole, searchWhole, showEarlier, showMore } from "./whole";

/** A pane with all values of a list. */
export function WholeList({ isCovered }: { isCovered: boolean }) {
  const { whole } = families.value;
  if (whole === null || view.value === null) return null;
  return <Pane key={whole.field} whole={whole} view={view.value} isCovered={isCovered} />;
}

interface PaneProps {
  whole: Whole;
  view: View;
  /** Whether another pane lies on it. */
  isCovered: boolean;
}

function Pane({ whole, view, isCovered }: PaneProps) {
  const pane = useRef<HTMLElement>(null);
  usePaneFocus(pane);
  const { field } = whole;
  const list = families.value.lists[WHOLE_PANEL];
  const answer = list?.answer ?? null;
  const isAnswered = list?.isAnswered ?? false;
  const title = listTitle(field, view.derived);
  useEffect(() => {
    if (whole.isSaving && isAnswered) saveAnswered(answer);
  }, [whole.isSaving, isAnswered, answer]);
  return (
    <aside
      ref={pane}
      class="pane whole"
      aria-labelledby="whole-title"
      data-testid="whole"
      data-field={field}
      hidden={isCovered}
    >
      <div class="pane-head">
        <h2 id="whole-title">
          {title} {answer && <span class="muted">{distinctText(answer)}</span>}
        </h2>
        <button
          type="button"
          class="button quiet icon"
          aria-label="Close the list"
          data-testid="whole-close"
          onClick={closeWhole}
        >
          <Icon name="close" />
        </button>
      </div>
      <Tools whole={whole} title={title} answer={answer} />
      {list?.refusal && <p class="bad">{visible(list.refusal)}</p>}
      {list && answer && <Rows whole={whole} view={view} list={list} answer={answer} />}
    </aside>
  );
}

function distinctText({ values, estimated }: FieldList): string {
  return lowerBound(count(values), estimated ?? false);
}

interface ToolsProps {
  whole: Whole;
  title: string;
  answer: FieldList | null;
}

/** The box to search in the values, and what saves them. */
function Tools({ whole, title, answer }: ToolsProps) {
  return (
    <div class="whole-tools">
      <input
        type="search"
        class="whole-search"
        data-autofocus
        data-testid="whole-search"
        aria-label={`Search in ${title}`}
        placeholder={answer ? `Search in ${count(answer.values)} values` : "Search"}
        maxLength={SEARCH_MAX}
        spellcheck={false}
        autocomplete="off"
        value={whole.search}
        onInput={({ currentTarget }) => searchWhole(currentTarget.value)}
      />
      <button
        type="button"
        class="button small"
        title="Save these values with their numbers as a CSV file"
        data-testid="whole-save"
        disabled={answer === null || whole.isSaving}
        onClick={saveWhole}
      >
        <Icon name="save" /> CSV
      </button>
    </div>
  );
}

interface RowsProps {
  whole: Whole;
  view: View;
  list: AskedList;
  answer: FieldList;
}

function Rows({ whole, view, list, answer }: RowsProps) {
  const { field } = whole;
  const { report } = view;
  const measure = shownMeasure(report, question.value.measure);
  const columns = { ...columnsOf(report, measure), hasLine: false };
  // An answer that is saved has more rows than are shown, and one that is awaited others.
  const skipped = list.isAnswered ? whole.from - list.answerFrom : 0;
  const rows = answer.group.rows.slice(skipped, skipped + whole.count);
  const values = {
    rows,
    distinct: answer.values,
    isEstimated: answer.estimated ?? false,
    sums: answer,
  };
  const title = listTitle(field, view.derived);
  return (
    <>
      <TopList
        testId="whole-list"
        label={`All ${title}`}
        field={field}
        values={values}
        columns={columns}
        report={report}
        head={
          <Heads
            field={field}
            title={`all ${title}`}
            columns={columns}
            report={report}
            isSortable
          />
        }
        isBusy={!list.isAnswered}
        isWhole
      />
      <Further
        from={list.answerFrom + skipped}
        search={whole.search}
        shown={rows.length}
        found={foundIn(answer)}
      />
    </>
  );
}

/** The number of rows that the search finds: those of the answer, and all before and after them. */
function foundIn({ group }: FieldList): number {
  return group.rows.length + group.rest.values;
}

interface FurtherProps {
  /** The place of the first row that is shown. */
  from: number;
  shown: number;
  found: number;
  search: string;
}

/** Which rows are shown, and the ways to the others. */
function Further({ from, shown, found, search }: FurtherProps) {
  const onMore = (event: MouseEvent) => {
    const at = showMore();
    // A click by the keyboard goes on at the first new row, a list that begins anew at its top.
    if (event.detail === 0 || at === 0) focusRow(at);
  };
  return (
    <p class="whole-further">
      <span role="status" data-testid="whole-found" data-found={found}>
        {foundText(from, shown, found, search)}
      </span>
      {from > 0 && (
        <button
          type="button"
          class="button small"
          data-testid="whole-earlier"
          onClick={showEarlier}
        >
          Show those before
        </button>
      )}
      {from + shown < found && (
        <button type="button" class="button small" data-testid="whole-more" onClick={onMore}>
          Show more
        </button>
      )}
    </p>
  );
}

function foundText(from: number, shown: number, found: number, search: string): string {
  if (found === 0) return search === "" ? "No value." : "No value contains this text.";
  const all = from === 0 && shown === found;
  const rows = all ? `All ${count(found)}` : `${count(from + 1)} to ${count(from + shown)}`;
  const of = all ? "" : ` of ${count(found)}`;
  return `${rows}${of}${search === "" ? "" : " that contain the text"}`;
}

/** Focuses a row of the list as soon as it is there: an answer has to come, and rows are drawn in steps. */
function focusRow(at: number): void {
  focusWhenThere(() => {
    const list = document.querySelector('[data-testid="whole-list"] ul');
    if (list?.getAttribute("aria-busy") !== "false") return null;
    return list.querySelectorAll<HTMLElement>(".top-row")[at] ?? null;
  });
}
