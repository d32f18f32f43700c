import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { count } from "../../format/number";
import { visible } from "../../format/text";
import type { Capture } from "../../generated/Capture";
import type { CaptureStep } from "../../generated/CaptureStep";
import { LogText } from "../../views/LogText";
import { barOf, countText, type Span, spanOf, stepTime } from "./steps";

/** Steps that are drawn until the person asks for more. */
const SHOWN = 200;

/** The steps in their order, each with a bar on the line of time. */
export function Steps({ of: answer }: { of: Capture }) {
  const { steps, first_steps, steps_left_out } = answer;
  const [hasAll, setAll] = useState(false);
  const shown = hasAll ? steps : steps.slice(0, SHOWN);
  const span = spanOf(steps);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls needs the keyboard */}
      <section class="wide" tabIndex={0} aria-label="Steps">
        <table id="steps" class="table steps">
          <thead>
            <tr>
              <th scope="col" class="text">
                Step
              </th>
              <th scope="col">Begins</th>
              <th scope="col">Takes</th>
              <th scope="col">Bytes</th>
              <th scope="col">
                <span class="visually-hidden">Timeline</span>
              </th>
            </tr>
          </thead>
          <tbody id="rows">
            {shown.map((step, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: steps are told apart by their places
              <Fragment key={at}>
                {at === first_steps && steps_left_out > 0 && (
                  <tr class="left-out">
                    <td class="text" colSpan={5}>
                      {count(steps_left_out)} steps are omitted here
                    </td>
                  </tr>
                )}
                <StepRow step={step} span={span} />
              </Fragment>
            ))}
          </tbody>
        </table>
      </section>
      {shown.length < steps.length && (
        <button type="button" class="button small" id="more" onClick={() => setAll(true)}>
          Show all {count(steps.length)} steps
        </button>
      )}
    </>
  );
}

function StepRow({ step, span }: { step: CaptureStep; span: Span }) {
  const { left, width } = barOf(step, span);
  return (
    <tr>
      <td class="text">
        {step.name}
        {step.detail !== undefined && step.detail !== "" && (
          <span class="step-detail">
            <LogText value={step.detail} title={false} />
          </span>
        )}
      </td>
      <td data-title="Begins">{stepTime(step.begun)}</td>
      <td data-title="Takes">{stepTime(step.duration)}</td>
      <td data-title={step.bytes === undefined ? undefined : "Bytes"}>{countText(step.bytes)}</td>
      <td class="when">
        <div class="track">
          {/* The bar of the last step stays visible. */}
          <div class="bar" style={{ left: `min(${left}%, 100% - 4px)`, width: `${width}%` }} />
        </div>
      </td>
    </tr>
  );
}

/** All steps by name, if some are repeated. */
export function Totals({ of: { totals } }: { of: Capture }) {
  if (totals.every((total) => total.count < 2)) return null;
  return (
    <section class="panel" id="sums" aria-labelledby="sums-title">
      <h2 id="sums-title">All steps by name</h2>
      <table class="table">
        <thead>
          <tr>
            <th scope="col" class="text">
              Step
            </th>
            <th scope="col">Count</th>
            <th scope="col">Time</th>
            <th scope="col">Bytes</th>
            <th scope="col">Median bytes</th>
          </tr>
        </thead>
        <tbody>
          {totals.map((total) => (
            <tr key={total.name}>
              <td class="text">{total.name}</td>
              <td data-title="Count">{count(total.count)}</td>
              <td data-title="Time">{stepTime(total.duration)}</td>
              <td data-title="Bytes">{countText(total.bytes)}</td>
              <td data-title="Median bytes">{countText(total.bytes_median)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The heads of both sides, without secrets. */
export function Heads({ of: { heads } }: { of: Capture }) {
  if (heads.length === 0) return null;
  return (
    <div id="heads" class="heads">
      {heads.map(({ title, text }) => (
        <section class="panel" key={title} aria-label={title}>
          <h3>{title}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls needs the keyboard */}
          <pre tabIndex={0}>{text.split("\n").map(visible).join("\n")}</pre>
        </section>
      ))}
    </div>
  );
}
