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
          <strong>Weir does not answer.</strong> Trying again…
          {view && " The numbers are those from before, and stay as they are until it does."}
        </p>
      )}
      {connection === "blocked" && <Blocked />}
      {connection === "gone" && (
        <p class="banner bad" data-testid="banner">
          <strong>This data set is gone.</strong> The server frees a data set when its page has been
          closed for a while, or when it is restarted.{view && " The numbers are the last ones."}{" "}
          <a href="/">Start again</a>
        </p>
      )}
      {refusal !== null && (
        <p class="banner bad" data-testid="banner">
          <strong>Invalid query.</strong> {refusal} The numbers are those of the query before it.{" "}
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

/** What nginx needs to pass on WebSockets; README.md has the same. */
const NGINX_LINES = `proxy_http_version 1.1;
proxy_set_header Upgrade $http_upgrade;
proxy_set_header Connection "upgrade";
proxy_set_header Host $http_host;
proxy_read_timeout 1h;
proxy_send_timeout 1h;`;

function Blocked() {
  return (
    <div class="banner warn" data-testid="banner">
      <p>
        <strong>Weir answers, but no WebSocket to it opens.</strong> All numbers and uploads of this
        page come over WebSockets. If there is a proxy in front of Weir, it has to pass them on.
        nginx does so with these lines beside its <code>proxy_pass</code>:
      </p>
      <pre>{NGINX_LINES}</pre>
      <p>Trying again…</p>
    </div>
  );
}
