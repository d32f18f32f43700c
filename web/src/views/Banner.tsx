import { undo } from "../control/questions";
import { notify } from "../control/session";
import { state } from "../state/store";

/** Messages about the connection and the last step. */
export function Banner() {
  const { connection, refusal, notice, view } = state.value;
  return (
    <div role="status" aria-live="polite">
      {connection === "lost" && (
        <p class="banner warn" data-testid="banner">
          <strong>Connection lost.</strong> Trying again…
          {view && " The numbers are those from before."}
        </p>
      )}
      {connection === "gone" && (
        <p class="banner bad" data-testid="banner">
          <strong>This data set is gone.</strong> The server frees a data set when its page has been
          closed for a while, or when it is restarted. <a href="/">Start again</a>
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
