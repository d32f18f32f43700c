import { free, keepAll } from "../control/dataSets";
import { state } from "../state/store";
import { LogText } from "./LogText";

/** The data sets of this browser, one of which has to be freed before the server accepts another. */
export function Freeable() {
  const { freeable, session } = state.value;
  if (freeable === null) return null;
  return (
    <section class="banner warn" aria-label="Data sets" data-testid="freeable">
      <p>
        <strong>There is no room for another data set.</strong> Weir holds as many as it may.{" "}
        {freeable.length > 0
          ? "Free one that is no longer needed:"
          : "None of them was opened in this browser. Close the page of one; it is freed a while later."}
      </p>
      <ul class="freeable">
        {freeable.map((one) => (
          <li key={one.session}>
            <LogText value={one.name || "without a name"} />
            {one.session === session && <span class="muted">on this page</span>}
            <a href={`/s/${one.session}`} target="_blank" rel="noreferrer">
              Open
            </a>
            <button type="button" class="button small" onClick={() => void free(one.session)}>
              Free
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="button small" onClick={keepAll}>
        Free none
      </button>
    </section>
  );
}
