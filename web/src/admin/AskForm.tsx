import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { visible } from "../format/text";
import type { Waiting } from "./waiting";

interface Props {
  waiting: Waiting;
  /** The word on the button. */
  action: string;
  onAsk: (form: FormData) => void;
  /** Stops the question; absent if it cannot be stopped. */
  onStop?: () => void;
  /** The fields. */
  children: ComponentChildren;
}

/** A form whose answer takes seconds: its fields, its progress and its message. */
export function AskForm({ waiting, action, onAsk, onStop, children }: Props) {
  const isWaiting = waiting.begun_ms !== null;
  return (
    <form
      class="panel controls"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk(new FormData(event.currentTarget));
      }}
    >
      {children}
      <button type="submit" class="button primary" id="start" disabled={isWaiting}>
        {action}
      </button>
      {isWaiting && onStop && (
        <button type="button" class="button" id="stop" ref={focusFirst} onClick={onStop}>
          Stop waiting
        </button>
      )}
      {isWaiting && <Progress begun_ms={waiting.begun_ms ?? 0} seconds={waiting.seconds} />}
      <output id="message" class={waiting.isBad ? "bad" : ""}>
        {waiting.message.split("\n").map(visible).join("\n")}
      </output>
    </form>
  );
}

/** The number of seconds to wait. */
export function SecondsField({ initial }: { initial: number }) {
  return (
    <label>
      Seconds{" "}
      <input
        id="seconds"
        name="seconds"
        type="number"
        min={1}
        max={60}
        defaultValue={initial}
        required
      />
    </label>
  );
}

/** How often the progress is drawn. */
const STEP_MS = 100;

function Progress({ begun_ms, seconds }: { begun_ms: number; seconds: number }) {
  const [part, setPart] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      setPart(Math.min((performance.now() - begun_ms) / (seconds * 1000), 1));
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [begun_ms, seconds]);
  return <progress max={1} value={part} aria-label="Progress" />;
}

/** The button that started has lost the focus, because it is disabled meanwhile. */
function focusFirst(button: HTMLButtonElement | null): void {
  button?.focus();
}
