import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible, visibleLines } from "../format/text";
import type { RuleFile } from "../generated/RuleFile";
import type { RulePlace } from "../generated/RulePlace";
import { OTHER, OWN, type Slot } from "../state/rules";
import { rules } from "../state/store";
import {
  compareWith,
  endComparison,
  RULE_BYTES_MAX,
  removeRuleFile,
  tryRule,
  tryRuleFiles,
} from "./control";

const EXAMPLE = `limit_req_zone $binary_remote_addr zone=perip:10m rate=5r/s;
limit_req zone=perip burst=20 nodelay;`;

/** The text of the rule, to paste, type or drop. */
export function RuleBox({ isFresh, slot = OWN }: { isFresh: boolean; slot?: Slot }) {
  const { text, files, refusal, place } = rules.value.panels[slot];
  const [draft, setDraft] = useState(text ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  // The text also changes by the limit line. In a later frame it would replace what is typed.
  useLayoutEffect(() => setDraft(text ?? ""), [text]);
  useLayoutEffect(() => {
    if (isFresh) box.current?.focus();
  }, [isFresh]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    tryRule(draft, slot);
  };
  const drop = async (event: DragEvent) => {
    const list = [...(event.dataTransfer?.files ?? [])];
    if (list.length === 0) return;
    // Anywhere else on the page, a dropped file is a log.
    event.preventDefault();
    event.stopPropagation();
    const dropped = await textsOf(list);
    setProblem(dropped === null ? NOT_A_RULE : null);
    if (dropped !== null) tryRuleFiles(dropped, slot);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) tryRule(draft, slot);
    if (event.key !== "Escape") return;
    // Here Escape leaves the box instead of undoing the last step.
    event.preventDefault();
    box.current?.blur();
  };
  const shown = problem ?? refusal;
  return (
    <form class="rule-box" onSubmit={submit}>
      <textarea
        class="text-box"
        ref={box}
        rows={Math.min(12, Math.max(3, draft.split("\n").length))}
        value={draft}
        placeholder={EXAMPLE}
        title="Paste what you run: limits of nginx, ingress-nginx, HAProxy, Caddy or iptables, a jail of fail2ban, a scenario of CrowdSec, or drop the files. Ctrl+Enter tries the rule."
        aria-label={slot === OWN ? "Text of the rule" : "Text of the other rule"}
        aria-invalid={shown !== null}
        aria-describedby={shown !== null ? `rule-refusal-${slot}` : undefined}
        autoCapitalize="off"
        spellcheck={false}
        data-testid="rule-box"
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onDrop={(event) => void drop(event)}
      />
      <p class="box-buttons">
        <button type="submit" class="button" data-testid="rule-try">
          Try the rule
        </button>
        {draft === "" && (
          <button type="button" class="link" onClick={() => setDraft(EXAMPLE)}>
            Use the example
          </button>
        )}
        {slot === OTHER ? (
          <button type="button" class="link" data-testid="rule-alone" onClick={endComparison}>
            End the comparison
          </button>
        ) : (
          text !== null && <OwnButtons text={text} />
        )}
      </p>
      {files.length > 0 && (
        <p class="box-buttons" data-testid="rule-files">
          {files.map(({ name }) => (
            <span key={name}>
              {visible(name)}{" "}
              <button
                type="button"
                class="link"
                aria-label={`Remove ${visible(name)}`}
                onClick={() => removeRuleFile(name, slot)}
              >
                Remove
              </button>
            </span>
          ))}
        </p>
      )}
      {shown !== null && (
        <Refusal id={`rule-refusal-${slot}`} text={shown} place={problem === null ? place : null} />
      )}
    </form>
  );
}

const NOT_A_RULE = `This is not a rule: it is longer than ${RULE_BYTES_MAX >> 10} KiB.`;

/** What else can be done with the rule of the panel. */
function OwnButtons({ text }: { text: string }) {
  return (
    <>
      <button type="button" class="link" data-testid="rule-clear" onClick={() => tryRule("")}>
        Clear
      </button>
      {!rules.value.lab.hasOther && (
        <>
          <button
            type="button"
            class="link"
            data-testid="rule-compare"
            onClick={() => compareWith("")}
          >
            Compare with another rule
          </button>
          <button
            type="button"
            class="link"
            title="Puts a copy of the rule beside it, to see what your changes change"
            data-testid="rule-keep"
            onClick={() => compareWith(text)}
          >
            Keep this version and edit
          </button>
        </>
      )}
    </>
  );
}

interface RefusalProps {
  id: string;
  text: string;
  place: RulePlace | null;
}

function Refusal({ id, text, place }: RefusalProps) {
  return (
    <div class="refusal" id={id} role="alert" data-testid="rule-refusal">
      {place !== null && `Line ${place.line}, column ${place.column}: `}
      {visibleLines(text)}
      {place !== null && <pre data-testid="rule-excerpt">{visibleLines(place.excerpt)}</pre>}
    </div>
  );
}

/** The texts of dropped files; `null` if they are too long for a rule. */
async function textsOf(files: File[]): Promise<RuleFile[] | null> {
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  if (bytes > RULE_BYTES_MAX) return null;
  return Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
}
