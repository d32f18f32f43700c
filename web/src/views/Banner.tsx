import { notify, undo } from "../control";
import { state } from "../state/store";

/** What the person must know about the connection or their last step. */
export function Banner() {
  const { connection, refusal, notice, view } = state.value;
  return (
    <div role="status" aria-live="polite">
      {connection === "lost" && (
        <p class="banner warn" data-testid="banner">
          <strong>Connection lost.</strong> Trying again…
          {view && " What you see is what was read before it broke."}
        </p>
      )}
      {connection === "gone" && (
        <p class="banner bad" data-testid="banner">
          <strong>This data set is gone.</strong> The server frees a data set when its page has been
          closed for a while, or when it is restarted. <a href="/">Start anew</a>
        </p>
      )}
      {refusal !== null && (
        <p class="banner bad" data-testid="banner">
          <strong>That question was not understood.</strong> {refusal} The numbers are those of the
          question before it.{" "}
          <button type="button" class="button small" onClick={undo}>
            Undo
          </button>
        </p>
      )}
      {notice !== null && (
        <p class="banner warn" data-testid="banner">
          {notice}{" "}
          <button type="button" class="button small" onClick={() => notify(null)}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}
