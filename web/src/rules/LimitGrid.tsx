import { useRef, useState } from "preact/hooks";
import { filterBy } from "../control/questions";
import { count, trimmed } from "../format/number";
import { visible } from "../format/text";
import type { LimitAdvice } from "../generated/LimitAdvice";
import type { LimitGrid as Grid } from "../generated/LimitGrid";
import type { NotedClient } from "../generated/NotedClient";
import { toggleInclude } from "../state/filter";
import { state } from "../state/store";
import { LogText } from "../views/LogText";
import { applySetting } from "./control";
import { cellAfter, cellText, type Measure, shareOf, suggestionText } from "./grid";

interface Props {
  grid: Grid;
  noun: { one: string; many: string };
}

/** The keys or requests that each rate and burst would catch, and the setting that is suggested. */
export function LimitGrid({ grid, noun }: Props) {
  const [measure, setMeasure] = useState<Measure>("keys");
  const [active, setActive] = useState<[number, number]>(grid.own);
  const body = useRef<HTMLTableSectionElement>(null);
  const [row, column] = [
    Math.min(active[0], grid.rates.length - 1),
    Math.min(active[1], grid.bursts.length - 1),
  ];
  const onKeyDown = (event: KeyboardEvent) => {
    const next = cellAfter(event.key, [row, column], grid);
    if (next === null) return;
    event.preventDefault();
    setActive(next);
    body.current?.rows[next[0]]?.cells[next[1] + 1]?.querySelector("button")?.focus();
  };
  const most = Math.max(1, ...grid[measure].flat());
  return (
    <section class="limit-grid" aria-label="Other rates and bursts" data-testid="limit-grid">
      {grid.advice && <Advice advice={grid.advice} grid={grid} noun={noun} />}
      <p class="grid-text">
        <output data-testid="grid-text">{cellText(grid, row, column, noun)}</output>
        <MeasureSwitch measure={measure} many={noun.many} onChange={setMeasure} />
      </p>
      <table aria-label={`${noun.many} and requests over the limit, by rate and burst`}>
        <thead>
          <tr>
            <th scope="col">rate \ burst</th>
            {grid.bursts.map((burst) => (
              <th key={burst} scope="col">
                <span>{count(burst)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {grid.rates.map(({ setting }, at) => (
            <tr key={setting}>
              <th scope="row">{setting}</th>
              {grid.bursts.map((burst, place) => (
                <td key={burst} class={marksOf(grid, at, place)}>
                  <button
                    type="button"
                    tabIndex={at === row && place === column ? 0 : -1}
                    style={{ "--share": shareOf(grid[measure][at]![place]!, most) }}
                    aria-label={cellText(grid, at, place, noun)}
                    data-testid="grid-cell"
                    data-rate={setting}
                    data-burst={burst}
                    onPointerEnter={() => setActive([at, place])}
                    onFocus={() => setActive([at, place])}
                    onKeyDown={onKeyDown}
                    onClick={() => applySetting(setting, burst)}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="hint">
        <span class="grid-mark own" /> your rule
        {grid.advice && (
          <>
            {" "}
            <span class="grid-mark knee" /> suggested
          </>
        )}
        . A click on a cell, or Enter, writes its rate and burst into the rule. Of whole seconds the
        likeliest moments are taken.
      </p>
    </section>
  );
}

function marksOf({ own, advice }: Grid, row: number, column: number): string {
  const isOwn = row === own[0] && column === own[1];
  const isKnee = advice !== null && row === own[0] && column === advice.at;
  return `${isOwn ? "own" : ""} ${isKnee ? "knee" : ""}`.trim();
}

interface SwitchProps {
  measure: Measure;
  many: string;
  onChange: (measure: Measure) => void;
}

/** Chooses the number that the colour stands for. */
function MeasureSwitch({ measure, many, onChange }: SwitchProps) {
  const option = (value: Measure, label: string) => (
    <label>
      <input
        type="radio"
        name="grid-measure"
        checked={measure === value}
        data-testid={`grid-${value}`}
        onChange={() => onChange(value)}
      />{" "}
      {label}
    </label>
  );
  return (
    <span class="grid-measure">
      {option("keys", `${many} over the limit`)} {option("requests", "rejected requests")}
    </span>
  );
}

interface AdviceProps extends Props {
  advice: LimitAdvice;
}

/** The suggested setting, the busiest human within it, and the slowest attack over it. */
function Advice({ advice, grid, noun }: AdviceProps) {
  const rate = grid.rates[grid.own[0]]!.setting;
  const { suggestion, busiest_human, slowest_attack } = advice;
  return (
    <div class="advice" data-testid="advice">
      <p>
        <strong>{`burst=${count(suggestion.burst)} at ${rate}`}</strong>:{" "}
        {suggestionText(suggestion, noun)}{" "}
        <button
          type="button"
          class="button small"
          data-testid="use-suggestion"
          onClick={() => applySetting(rate, suggestion.burst)}
        >
          Use this
        </button>
      </p>
      <ul>
        <li title="No agent of it is that of a known program, and it signed in, or loaded pages with their files">
          The busiest {noun.one} within it that looks human:{" "}
          <Noted client={busiest_human} isHuman />
        </li>
        <li title="It does not look human, and is no known crawler or monitor and in no network that you named">
          The slowest {noun.one} over it that looks like an attack:{" "}
          <Noted client={slowest_attack} />
        </li>
      </ul>
    </div>
  );
}

function Noted({ client, isHuman = false }: { client: NotedClient | null; isHuman?: boolean }) {
  if (client === null) return <>none.</>;
  const { key, peak, is_signed_in } = client;
  const why = is_signed_in ? ", signed in" : ", loaded pages with their files";
  return (
    <>
      <button
        type="button"
        class="link"
        title={`Filter by ${visible(key)}`}
        onClick={() =>
          filterBy(toggleInclude(state.value.question.clauses, "client", { value: key }))
        }
      >
        <LogText value={key} />
      </button>
      {`, with a peak of ${trimmed(peak, 1)}${isHuman ? why : ""}.`}
    </>
  );
}
