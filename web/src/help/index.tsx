import { useRef } from "preact/hooks";
import { view } from "../state/store";
import { usePaneFocus } from "../views/focus";
import { Icon } from "../views/icons";
import { closeHelp, tryCondition } from "./control";
import { examplesOf } from "./examples";

/** What stands in conditions, and what it means. */
const SYNTAX: readonly (readonly [codes: readonly string[], meaning: string])[] = [
  [["status=404,403"], "one of these values; != is none of them"],
  [["status=4xx"], "a class of statuses"],
  [["client=192.0.2.0/24"], "an address or a network"],
  [["path^=/api"], "begins with"],
  [["path~^/(a|b)$", "path!~png"], "matches a regular expression, or does not"],
  [["bytes>1MB", "request_time>=200ms"], "also < and <=, with sizes, durations and times"],
  [["time>=2025-12-17", "time<2h"], "a time, or one before now"],
  [["referer=(none)"], "the field is missing"],
  [["googlebot", '"mobile safari"'], "any field has this word or text"],
  [["a or b and not (c or d)"], "joined as you would say it"],
];

/** The keys of the page. */
const KEYS: readonly (readonly [keys: readonly string[], meaning: string])[] = [
  [["/"], "filter"],
  [["?"], "this help"],
  [["o", "l", "c", "r", "b"], "tabs"],
  [["←", "→"], "on the chart: move; with Shift: a range"],
  [["Enter"], "on the chart: zoom into the range"],
  [["Ctrl", "C"], "in a list: copy the value; in the lines: the line"],
  [["s"], "in the lines: the story of the client"],
  [["Alt", "click"], "in a list: exclude the value"],
  [["↑", "↓"], "in a list: another row"],
  [["x", "s"], "in a list: exclude the value; the story of the client"],
  [["Esc"], "one step back"],
];

/** The help as a pane: what stands behind it can be tried meanwhile. */
export function HelpPane() {
  const pane = useRef<HTMLElement>(null);
  usePaneFocus(pane);
  return (
    <aside ref={pane} class="pane help" aria-labelledby="help-title" data-testid="help">
      <div class="pane-head">
        <h2 id="help-title">Conditions and keys</h2>
        <button
          type="button"
          class="button quiet icon"
          aria-label="Close the help"
          data-autofocus
          data-testid="help-close"
          onClick={closeHelp}
        >
          <Icon name="close" />
        </button>
      </div>
      <Examples />
      <section aria-labelledby="help-syntax">
        <h3 id="help-syntax">Conditions</h3>
        <dl class="help-list">
          {SYNTAX.map(([codes, meaning]) => (
            <div key={codes[0]}>
              <dt>
                {codes.map((code) => (
                  <code key={code}>{code}</code>
                ))}
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section aria-labelledby="help-keys">
        <h3 id="help-keys">Keys</h3>
        <dl class="help-list keys">
          {KEYS.map(([keys, meaning]) => (
            <div key={meaning}>
              <dt>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </section>
    </aside>
  );
}

function Examples() {
  const report = view.value?.report;
  const examples = report === undefined ? [] : examplesOf(report);
  if (examples.length === 0) return null;
  return (
    <section aria-labelledby="help-examples">
      <h3 id="help-examples">Try one on this log</h3>
      <ul class="help-examples">
        {examples.map(({ condition, hint }) => (
          <li key={condition}>
            <button
              type="button"
              class="help-example"
              data-testid="help-example"
              data-condition={condition}
              onClick={() => tryCondition(condition)}
            >
              <code>{condition}</code>
              <span>{hint}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
