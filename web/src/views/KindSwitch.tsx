import { change } from "../control/questions";
import { kindChoices } from "../format/kind";
import { count } from "../format/number";
import { KIND_WORDS } from "../generated/kindWords";
import type { RecordKind } from "../generated/RecordKind";
import type { Report } from "../generated/Report";

/** Chooses the kind of records, if the data set has several. */
export function KindSwitch({ report }: { report: Report }) {
  const choices = kindChoices(report);
  if (choices.length === 0) return null;
  const choose = (kind: RecordKind) => {
    if (kind !== report.kind) change({ kind, hasOverlay: false });
  };
  return (
    <fieldset class="kinds" aria-label="Kind of records">
      {choices.map(({ kind, records }) => (
        <button
          key={kind}
          type="button"
          class="kind"
          data-testid="kind"
          data-kind={kind}
          data-records={records}
          aria-pressed={kind === report.kind}
          onClick={() => choose(kind)}
        >
          {KIND_WORDS[kind].title} <span class="muted">{count(records)}</span>
        </button>
      ))}
    </fieldset>
  );
}
