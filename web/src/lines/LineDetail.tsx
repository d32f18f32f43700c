import { visible } from "../format/text";
import type { LineField } from "../generated/LineField";
import { isIncluded } from "../state/filter";
import { lines, question } from "../state/store";
import { StoryButton } from "../story/StoryButton";
import { CopyText } from "../views/CopyText";
import { LogText } from "../views/LogText";
import { excludeField, filterByField, isSame, showAround } from "./detail";
import { LineText } from "./LineText";
import type { ShownLine } from "./shown";

/** The most characters of a line. */
const WHOLE_MAX = 1 << 16;

/** Fields of a line by which nothing is filtered: no other line has the same. */
const UNIQUE = new Set(["time"]);

/** A line with all of its fields, the text itself, and the lines around it. */
export function LineDetail({ of: line }: { of: ShownLine }) {
  const { detail } = lines.value;
  const isKnown = detail.line !== null && isSame(detail.line, line.line);
  const source = isKnown ? detail.source : "";
  const fields = isKnown ? detail.fields : null;
  const { client } = line.line;
  return (
    <aside class="panel line-detail" aria-label="The line" data-testid="line-detail">
      <div class="line-detail-head">
        <h3 title={visible(source)}>
          {source === "" ? "Line" : <LogText value={source.split("/").at(-1) ?? ""} />}
        </h3>
        {line.text !== null && <CopyText text={line.text} />}
      </div>
      <pre class="line-whole" data-testid="line-whole">
        <LineText of={line} max={WHOLE_MAX} />
        {line.isCut && <span class="escape">… the line is longer</span>}
      </pre>
      <p class="line-actions">
        {client && <StoryButton value={client} hasWords />}
        <button
          type="button"
          class="link"
          data-testid="line-around"
          onClick={() => void showAround()}
        >
          Lines around it
        </button>
      </p>
      {isKnown && detail.around !== null && <Around lines={detail.around} of={line} />}
      <Fields fields={fields} />
    </aside>
  );
}

function Around({ lines: around, of: line }: { lines: readonly ShownLine[]; of: ShownLine }) {
  return (
    <ol class="line-context" aria-label="Lines around it" data-testid="line-context">
      {around.map((one) => (
        <li key={one.line.offset} aria-current={isSame(one.line, line.line) ? "true" : undefined}>
          <LineText of={one} />
        </li>
      ))}
    </ol>
  );
}

function Fields({ fields }: { fields: readonly LineField[] | null }) {
  if (fields === null) return <p class="muted">Reading its fields…</p>;
  const hasDerived = fields.some(({ derived }) => derived);
  return (
    <>
      <table class="line-fields-table">
        <caption class="visually-hidden">Fields of the line</caption>
        <tbody>
          {fields.map((field) => (
            <Field key={field.name} field={field} />
          ))}
        </tbody>
      </table>
      {hasDerived && <p class="hint">∗ follows from other fields</p>}
    </>
  );
}

function Field({ field }: { field: LineField }) {
  const { name, value, cut = false, derived = false } = field;
  const included = isIncluded(question.value.clauses, name, field);
  return (
    <tr data-testid="line-field" data-field={name} data-value={value}>
      <th scope="row">
        {visible(name)}
        {derived && <span title="follows from other fields"> ∗</span>}
      </th>
      <td>
        <LogText value={value} title={false} edges />
        {cut && "…"}
      </td>
      <td class="line-field-actions">
        {!cut && !UNIQUE.has(name) && (
          <>
            <button
              type="button"
              class="button small quiet"
              aria-pressed={included}
              aria-label={`Only ${name} ${visible(value)}`}
              title="Only this value"
              data-testid="line-field-include"
              onClick={() => filterByField(field)}
            >
              =
            </button>
            <button
              type="button"
              class="button small quiet"
              aria-label={`Without ${name} ${visible(value)}`}
              title="Without this value"
              data-testid="line-field-exclude"
              onClick={() => excludeField(field)}
            >
              ≠
            </button>
          </>
        )}
      </td>
    </tr>
  );
}
