import { useState } from "preact/hooks";
import { count } from "../format/number";
import type { Sample } from "../generated/Sample";
import type { View } from "../generated/View";
import { LogText } from "./LogText";

/** Samples that are shown until the person asks for all. */
const SHOWN = 12;

/** Samples of unparsed lines, with the reason and the remedy. */
export function Samples({ view }: { view: View }) {
  const [all, setAll] = useState(false);
  const { report, samples } = view;
  const shown = all ? samples : firstOfEach(samples, SHOWN);
  return (
    <section class="panel samples" data-testid="samples" aria-label="Unparsed lines">
      <h2>Unparsed lines</h2>
      <p>
        {count(report.unparsed_lines)} of {count(report.lines)} lines do not match the format
        {report.too_long_lines > 0 && `, ${count(report.too_long_lines)} too long and skipped`}.{" "}
        <Misfits view={view} />
      </p>
      <p class="hint">
        To choose a format, start Weir with it: <code>weir --format COMBINED FILE</code>, or with
        the quoted <code>log_format</code> of nginx or <code>LogFormat</code> of Apache.{" "}
        <code>weir formats FILE</code> tries all known formats.
      </p>
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
  const { before, at, after } = cutAt(sample.text, sample.column);
  return (
    <li>
      <p class="sample-where">
        <LogText value={sample.source} />, line {count(sample.line)}, column {count(sample.column)}:{" "}
        <strong>
          <LogText value={sample.reason} title={false} />
        </strong>
      </p>
      <pre>
        {before !== "" && <LogText value={before} title={false} />}
        <mark>
          {at === "" ? (
            <span class="escape">(end of line)</span>
          ) : (
            <LogText value={at} title={false} />
          )}
        </mark>
        {after !== "" && <LogText value={after} title={false} />}
      </pre>
    </li>
  );
}

/** Splits a line around the character at a column, which counts bytes from 1. */
function cutAt(text: string, column: number): { before: string; at: string; after: string } {
  const encoder = new TextEncoder();
  let bytes = 0;
  let index = 0;
  for (const character of text) {
    bytes += encoder.encode(character).length;
    if (bytes >= column) {
      const end = index + character.length;
      return { before: text.slice(0, index), at: character, after: text.slice(end) };
    }
    index += character.length;
  }
  return { before: text, at: "", after: "" };
}
