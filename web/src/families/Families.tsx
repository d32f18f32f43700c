import { fieldTitle } from "../format/field";
import { ownValue } from "../format/ownValue";
import { visible } from "../format/text";
import type { View } from "../generated/View";
import { families, question } from "../state/store";
import { LogText } from "../views/LogText";
import { familiesOfView } from "./control";
import { FamilyCard } from "./FamilyCard";

/** The lists of the records, in cards: who, what, how it went, with what, from where, when. */
export function Families({ view }: { view: View }) {
  return (
    <div class="families" data-kind={view.report.kind}>
      {familiesOfView(view).map((family) => (
        <FamilyCard key={family.name} family={family} view={view} shown={question.value} />
      ))}
      <Singles view={view} />
    </div>
  );
}

/** The fields that have one value in the whole log, in a line. */
function Singles({ view }: { view: View }) {
  const single = families.value.known?.single ?? [];
  const rows = single.flatMap((field) => {
    const row = ownValue(view.report.top, field)?.[0];
    return row ? [{ field, row }] : [];
  });
  if (rows.length === 0) return null;
  return (
    <p class="panel singles">
      <span class="muted">The same in all:</span>{" "}
      {rows.map(({ field, row }) => (
        <span
          key={field}
          class="single"
          data-testid="single"
          data-field={field}
          data-value={row.value}
          data-count={row.count}
          title={visible(row.value)}
        >
          <span class="muted">{fieldTitle(field)}</span>{" "}
          <LogText value={row.value} title={false} edges />
        </span>
      ))}
    </p>
  );
}
