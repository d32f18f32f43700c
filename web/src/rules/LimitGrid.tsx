import { useRef, useState } from "preact/hooks";
import { filterBy } from "../control/questions";
import { count, trimmed } from "../format/number";
import { visible } from "../format/text";
import type { JudgedClient } from "../generated/JudgedClient";
import type { LimitAdvice } from "../generated/LimitAdvice";
import type { LimitGrid as Grid } from "../generated/LimitGrid";
import { toggleInclude } from "../state/filter";
import { state } from "../state/store";
import { LogText } from "../views/LogText";
import { applySetting } from "./control";
import { cellAfter, cellText, type Measure, shareOf, suggestionText } from "./grid";
import { looksWord } from "./looks";

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
  const isKnee = advice !== null && row === advice.at[0] && column === advice.at[1];
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

/** The suggested setting, the busiest client that it spares, and the slowest that it rejects. */
function Advice({ advice, grid, noun }: AdviceProps) {
  const { suggestion, at, slowest_rejected } = advice;
  const rate = grid.rates[at[0]]!.setting;
  return (
    <div class="advice" data-testid="advice">
      <p>
        <strong>{`rate=${rate} burst=${count(suggestion.burst)}`}</strong>:{" "}
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
        <li title="A suggestion rejects no client that looks like a person or is good">
          The busiest {noun.one} that looks like a person or is good:{" "}
          <Judged client={suggestion.busiest_spared ?? null} />
        </li>
        <li>
          The slowest {noun.one} that it rejects: <Judged client={slowest_rejected} />
        </li>
      </ul>
    </div>
  );
}

function Judged({ client: judged }: { client: JudgedClient | null }) {
  if (judged === null) return <>none.</>;
  const { client, peak, looks } = judged;
  return (
    <>
      <button
        type="button"
        class="link"
        title={`Filter by ${visible(client)}`}
        onClick={() =>
          filterBy(toggleInclude(state.value.question.clauses, "client", { value: client }))
        }
      >
        <LogText value={client} />
      </button>
      {` (${looksWord(looks)}), with a peak of ${trimmed(peak, 1)}.`}
    </>
  );
}
