import { useState } from "preact/hooks";
import { count } from "../format/number";
import type { Sample } from "../generated/Sample";
import type { View } from "../generated/View";
import { LogText } from "./LogText";
import { MarkedLine } from "./MarkedLine";

/** Samples that are shown until the person asks for all. */
const SHOWN = 12;

/** Samples of unparsed lines, with the reason and the remedy. */
export function Samples({ view }: { view: View }) {
  const [all, setAll] = useState(false);
  const { report, samples } = view;
  // A file that is no log has no format.
  const isLog = view.sources.some((source) => source.unread?.is_log ?? source.unparsed_lines > 0);
  const shown = all ? samples : firstOfEach(samples, SHOWN);
  return (
    <section class="panel samples" data-testid="samples" aria-label="Unparsed lines">
      <h2>Unparsed lines</h2>
      <p>
        {count(report.unparsed_lines)} of {count(report.lines)} lines do not match the format
        {report.too_long_lines > 0 && `, ${count(report.too_long_lines)} too long and skipped`}.{" "}
        <Misfits view={view} />
      </p>
      {isLog && (
        <p class="hint">
          To give a file its format, use the button beside its name; in a terminal,{" "}
          <code>weir formats FILE</code> tries all known formats.
        </p>
      )}
      <ol>
        {shown.map((sample) => (
          <SampleRow key={`${sample.source} ${sample.line}`} sample={sample} />
        ))}
      </ol>
      {shown.length < samples.length && (
        <button type="button" class="link" onClick={() => setAll(true)}>
          Show all {count(samples.length)} samples
        </button>
      )}
    </section>
  );
}

/** Returns at most `most` samples, the same number of each source. */
function firstOfEach(samples: Sample[], most: number): Sample[] {
  const bySource = new Map<string, Sample[]>();
  for (const sample of samples)
    bySource.set(sample.source, [...(bySource.get(sample.source) ?? []), sample]);
  const each = Math.max(1, Math.floor(most / bySource.size));
  return [...bySource.values()].flatMap((own) => own.slice(0, each)).slice(0, most);
}

/** The sources with such lines, and the format that they do not match. */
function Misfits({ view }: { view: View }) {
  const misfits = view.sources.filter(
    (source) => source.unparsed_lines + source.too_long_lines > 0 && source.format !== null,
  );
  return (
    <>
      {misfits.slice(0, SHOWN).map((source) => (
        <span key={source.number} class="detected">
          <LogText value={source.name} />: {count(source.unparsed_lines + source.too_long_lines)} of{" "}
          {count(source.lines)} do not match{" "}
          <span class="tag" title={source.format!.definition}>
            {source.format!.name}
          </span>{" "}
        </span>
      ))}
      {misfits.length > SHOWN && `and ${count(misfits.length - SHOWN)} more files`}
    </>
  );
}

function SampleRow({ sample }: { sample: Sample }) {
  return (
    <li>
      <p class="sample-where">
        <LogText value={sample.source} />, line {count(sample.line)}, column {count(sample.column)}:{" "}
        <strong>
          <LogText value={sample.reason} title={false} />
        </strong>
      </p>
      <MarkedLine text={sample.text} column={sample.column} />
    </li>
  );
}
