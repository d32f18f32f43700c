import { fieldTitle } from "../format/field";
import { ownValue } from "../format/ownValue";
import { visible } from "../format/text";
import type { View } from "../generated/View";
import { families, question } from "../state/store";
import { LogText } from "../views/LogText";
import { chooseList, familiesOfView, shownField } from "./control";
import { FamilyCard } from "./FamilyCard";
import type { Family } from "./families";
import { listTitle } from "./titles";

/** The lists of the records, in cards: who, what, how it went, with what, from where, when. */
export function Families({ view }: { view: View }) {
  const all = familiesOfView(view);
  const picked = all.find(({ name }) => name === families.value.picked) ?? all[0];
  return (
    <div class="families" data-kind={view.report.kind}>
      {picked && <Picker all={all} picked={picked} view={view} />}
      {all.map((family) => (
        <FamilyCard
          key={family.name}
          family={family}
          view={view}
          shown={question.value}
          isPicked={family === picked}
        />
      ))}
      <Singles view={view} />
    </div>
  );
}

interface PickerProps {
  all: readonly Family[];
  picked: Family;
  view: View;
}

/** On a narrow window there is one list at a time, which is picked here. */
function Picker({ all, picked, view }: PickerProps) {
  const pick = (value: string) => {
    const [name, at] = value.split(" ");
    const family = all.find((one) => one.name === name);
    const field = family?.fields[Number(at)];
    if (family && field !== undefined) chooseList(family.name, field);
  };
  return (
    <label class="list-picker">
      <span class="visually-hidden">List</span>
      <select
        data-testid="list-picker"
        value={`${picked.name} ${picked.fields.indexOf(shownField(picked))}`}
        onChange={(event) => pick(event.currentTarget.value)}
      >
        {all.map(({ name, title, fields }) => (
          <optgroup key={name} label={title}>
            {fields.map((field, at) => (
              <option key={field} value={`${name} ${at}`}>
                {visible(listTitle(field, view.derived))}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
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
