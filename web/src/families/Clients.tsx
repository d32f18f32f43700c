import { count, lowerBound } from "../format/number";
import type { View } from "../generated/View";
import { question } from "../state/store";
import { Estimate, TopList } from "../views/TopList";
import { panelOf } from "./control";
import { Heads, knownList, WholeButton } from "./FamilyCard";
import { listTitle } from "./titles";

const FIELD = "client";

/** The clients over the whole width, in the order of the measure. */
export function Clients({ view }: { view: View }) {
  const { report } = view;
  const { list, values, columns } = knownList(FIELD, panelOf("who"), view, question.value);
  const { distinct, isEstimated } = values;
  const title = listTitle(FIELD, view.derived);
  const head = (
    <>
      <header class="family-head">
        <h2>
          {title}{" "}
          {distinct !== undefined && (
            <span class="muted">{lowerBound(count(distinct), isEstimated)}</span>
          )}
        </h2>
        {isEstimated && <Estimate />}
        <WholeButton field={FIELD} title={title} />
      </header>
      <Heads field={FIELD} title={title} columns={columns} report={report} isSortable />
    </>
  );
  return (
    <TopList
      field={FIELD}
      values={values}
      columns={columns}
      report={report}
      head={head}
      isBusy={list !== undefined && !list.isAnswered}
    />
  );
}
