import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../format/number";
import { visible } from "../format/text";
import type { FormatTrial } from "../generated/FormatTrial";
import type { Source } from "../generated/Source";
import { shellQuoted } from "../lines/command";
import { CopyText } from "../views/CopyText";
import { LogText } from "../views/LogText";
import { MarkedLine } from "../views/MarkedLine";
import { apply, boxSource, closeBox, tryOn } from "./control";

/** How long nothing is typed before the definition is tried. */
const TRY_MS = 120;

/** The box in which a person gives a source its format, and sees how well it fits. */
export function FormatBox() {
  const source = boxSource.value;
  return source && <Box key={source.number} source={source} />;
}

function Box({ source }: { source: Source }) {
  const [draft, setDraft] = useState("");
  const [trial, setTrial] = useState<FormatTrial | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isApplying, setApplying] = useState(false);
  const asked = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const ask = async (definition: string) => {
    const question = ++asked.current;
    try {
      const answer = await tryOn(source, definition);
      // A later question has been asked meanwhile.
      if (question !== asked.current || answer === null) return;
      setTrial(answer);
      setProblem(null);
      if (definition === "") setDraft(answer.definition);
    } catch (error) {
      if (question === asked.current) setProblem(error instanceof Error ? error.message : "");
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once for each source
  useEffect(() => {
    void ask("");
    return () => clearTimeout(timer.current);
  }, []);
  const type = (text: string) => {
    setDraft(text);
    clearTimeout(timer.current);
    asked.current++;
    if (text.trim() !== "") timer.current = setTimeout(() => void ask(text), TRY_MS);
  };
  const fits = trial !== null && trial.error === null && trial.parsed_lines > 0;
  const canApply = fits && trial.definition === draft && !isApplying;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!canApply) return;
    setApplying(true);
    setProblem(await apply(source, draft));
    setApplying(false);
  };
  const command = `weir report --format ${shellQuoted(draft)} ${shellQuoted(source.name)}`;
  return (
    <section class="panel format-box" aria-label="Format" data-testid="format-box">
      <h2>
        Format of <LogText value={source.name || "standard input"} />
      </h2>
      <form onSubmit={(event) => void submit(event)}>
        <textarea
          class="text-box"
          rows={Math.min(6, Math.max(2, Math.ceil(draft.length / 90)))}
          value={draft}
          placeholder={
            '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent'
          }
          aria-label="Definition of the format"
          aria-invalid={trial?.error != null}
          aria-describedby="format-fit"
          autoCapitalize="off"
          spellcheck={false}
          data-testid="format-definition"
          onInput={(event) => type(event.currentTarget.value)}
        />
        <div id="format-fit" aria-live="polite">
          <Fit trial={trial} />
        </div>
        {problem !== null && (
          <p class="bad" data-testid="format-problem">
            {visible(problem)}
          </p>
        )}
        <p class="box-buttons">
          <button
            type="submit"
            class="button primary"
            disabled={!canApply}
            data-testid="format-apply"
          >
            Read it in this format
          </button>
          <button type="button" class="link" onClick={closeBox}>
            Close
          </button>
          {fits && <CopyText text={command} />}
        </p>
      </form>
      <p class="hint">
        A known name, what your server has as <code>log_format</code> or <code>LogFormat</code>, or
        a known line with its further values, such as{" "}
        <code>{'COMBINED and rt=$request_time "$tls"'}</code>. Each <code>$name</code> becomes a
        field.
      </p>
    </section>
  );
}

/** How well the definition fits, and the first line that it does not fit. */
function Fit({ trial }: { trial: FormatTrial | null }) {
  if (trial === null) return <p class="muted">Looking at the first lines…</p>;
  const { error, lines, parsed_lines, misfit } = trial;
  if (error !== null) {
    return (
      <p class="bad" data-testid="format-error">
        Character {count(error.column)}: {visible(error.message)}
      </p>
    );
  }
  if (trial.definition === "" || lines === 0) {
    return (
      <p data-testid="format-fit" data-fits={0} data-lines={lines}>
        {lines === 0
          ? "No sample lines are at hand, so the definition cannot be tried here."
          : "No definition can be told from the first lines. Write one."}
      </p>
    );
  }
  const isWhole = parsed_lines === lines;
  return (
    <>
      <p class="format-share">
        <span class="meter" aria-hidden="true">
          <span style={{ transform: `scaleX(${parsed_lines / lines})` }} />
        </span>
        <strong
          class={isWhole ? "good" : "warn"}
          data-testid="format-fit"
          data-fits={parsed_lines}
          data-lines={lines}
        >
          fits {count(parsed_lines)} of {plural(lines, "sample line")}
        </strong>
      </p>
      {parsed_lines > 0 && (
        <p class="format-fields">
          Fields:{" "}
          {trial.fields.map((field) => (
            <span class="tag" key={field}>
              {visible(field)}
            </span>
          ))}
        </p>
      )}
      {misfit !== null && (
        <div class="samples-line" data-testid="format-misfit">
          <p class="sample-where">
            Line {count(misfit.line)}, column {count(misfit.column)}:{" "}
            <strong>
              <LogText value={misfit.reason} title={false} />
            </strong>
          </p>
          <MarkedLine text={misfit.text} column={misfit.column} />
        </div>
      )}
    </>
  );
}
