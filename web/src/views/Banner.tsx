import { undo } from "../control/questions";
import { notify } from "../control/session";
import { state } from "../state/store";
import { isName, NEW } from "../state/url";

/** Messages about the connection and the last step. */
export function Banner() {
  const { connection, refusal, notice } = state.value;
  return (
    <div role="status" aria-live="polite">
      {connection === "lost" && <Lost />}
      {connection === "blocked" && <Blocked />}
      {connection === "locked" && <Locked />}
      {connection === "gone" && <Gone />}
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

function Lost() {
  const { view } = state.value;
  return (
    <p class="banner warn" data-testid="banner">
      <strong>Weir does not answer.</strong> Trying again…
      {view && " The numbers are those from before, and stay as they are until it does."}
    </p>
  );
}

/** A token that is made at each start is another one after it. */
function Locked() {
  return (
    <p class="banner warn" data-testid="banner">
      <strong>Weir asks for its access token.</strong> It was restarted, or the token was changed.
      Open the link that it printed when it started, or append <code>?token=TOKEN</code> to the
      address. A token that stays the same is one of <code>--token-file</code>.
    </p>
  );
}

/** Why the address has no data set, and where to go. */
function Gone() {
  const { view, served, session } = state.value;
  return (
    <p class="banner bad" data-testid="banner">
      {isName(session) ? (
        <>
          <strong>Weir has no data set of the name {session}.</strong> Its name may have been
          changed when Weir was started again.
        </>
      ) : (
        <>
          <strong>This data set is gone.</strong> The server frees a data set when its page has been
          closed for a while, or when it is restarted.
        </>
      )}
      {view && " The numbers are the last ones."}{" "}
      {served === null || served === session ? (
        <a href="/">Start again</a>
      ) : (
        <>
          This Weir shows <a href="/">{served}</a>. You can also <a href={NEW}>open other logs</a>.
        </>
      )}
    </p>
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
