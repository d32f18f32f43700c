import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Capture } from "../../generated/Capture";
import { LogText } from "../../views/LogText";
import { AskForm, SecondsField } from "../AskForm";
import { momentText } from "../numbers";
import { capture } from "../store";
import { KINDS, stopWaiting, waitForRequest } from "./control";
import { Heads, Steps, Totals } from "./parts";
import { stepTime } from "./steps";

const SECONDS = 30;

/** Waits for one request, and shows each of its steps. */
export function CapturePage() {
  const { answer, begun_ms } = capture.value;
  return (
    <main>
      <h1>One request</h1>
      <AskForm
        waiting={capture.value}
        action="Wait for it"
        onAsk={(form) => void waitForRequest(form)}
        onStop={stopWaiting}
      >
        <KindFields />
        <SecondsField initial={SECONDS} />
      </AskForm>
      {answer !== null && <Found of={answer} />}
      {answer === null && begun_ms === null && (
        <p class="panel empty" id="empty">
          This page shows the next request with each of its steps: when it began, how long it took,
          and how many bytes passed. Choose what to wait for, select “Wait for it”, and send a
          request.
        </p>
      )}
      <p class="hint">
        Tokens, cookies, possible keys and the content of bodies are not shown. Conditions have the
        syntax of the page of the log and of <code>weir grep</code>. They are evaluated when a
        request ends.
      </p>
    </main>
  );
}

/** What to wait for, and the condition that it meets. */
function KindFields() {
  const [name, setName] = useState("request");
  const condition = KINDS.find((kind) => kind.name === name)?.condition;
  return (
    <>
      <label>
        Next{" "}
        <select
          id="kind"
          name="kind"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        >
          {KINDS.map((kind) => (
            <option key={kind.name} value={kind.name}>
              {kind.words}
            </option>
          ))}
        </select>
      </label>
      {condition && (
        <label id="condition-field">
          {condition.label}{" "}
          <input
            id="condition"
            name="condition"
            type="text"
            placeholder={condition.placeholder}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
    </>
  );
}

function Found({ of: answer }: { of: Capture }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const begun = momentText(new Date(answer.begun * 1000).toISOString());
  return (
    <>
      <section class="panel" id="found" aria-labelledby="name">
        <h2 id="name" class="request-name" ref={heading} tabIndex={-1}>
          <LogText value={answer.name} title={false} />
        </h2>
        <p class="muted">
          began {begun}, took {stepTime(answer.duration)}
          {!answer.has_ended && " so far: it has not ended"}
        </p>
        <Steps of={answer} />
      </section>
      <Totals of={answer} />
      <Heads of={answer} />
    </>
  );
}
