import { change } from "../control/questions";
import { fieldLabel } from "../format/field";
import { defaultStack } from "../format/kind";
import { ownValue } from "../format/ownValue";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import { STATUS_CLASS } from "../generated/words";
import { question } from "../state/store";

/** Fields with few enough values to have distinct colours. */
const STACKABLE = [STATUS_CLASS, "status", "method", "protocol", "host", "action", "level"];

/** Chooses the field by which the bars are stacked. */
export function StackSelect({ report }: { report: Report }) {
  // Two names of one field are one option, which is right for every kind of records.
  const stack = question.value.stack === defaultStack(report) ? STATUS_CLASS : question.value.stack;
  const fields = stackFields(report);
  const shown = fields.includes(stack) ? fields : [...fields, stack];
  return (
    <label class="stack-select">
      Stack by{" "}
      <select
        value={stack}
        data-testid="stack"
        onChange={({ currentTarget }) => {
          if (!change({ stack: currentTarget.value })) currentTarget.value = stack;
        }}
      >
        {shown.map((field) => (
          <option key={field} value={field}>
            {field === STATUS_CLASS ? defaultStackLabel(report) : visible(fieldLabel(field))}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The fields that the bars can be stacked by. */
function stackFields(report: Report): string[] {
  const isOffered = (field: string) =>
    field === STATUS_CLASS || (hasList(report, field) && field !== defaultStack(report));
  return STACKABLE.filter(isOffered);
}

/** The name of the default stack; requests without a status are not stacked by default. */
function defaultStackLabel(report: Report): string {
  const field = defaultStack(report);
  return field === STATUS_CLASS && !hasList(report, "status") ? "nothing" : fieldLabel(field);
}

function hasList(report: Report, field: string): boolean {
  return ownValue(report.top, field) !== undefined;
}
