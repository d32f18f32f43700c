import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "../../format/text";
import { LogText } from "../../views/LogText";
import { INTERVAL_MS } from "../ask";
import { MinuteChart } from "../MinuteChart";
import { tasks } from "../store";
import { openItem, stackOf } from "./control";
import { CHARTS, factsOf, type RateHistory, threadOf } from "./tables";

/** The details of a kind, a task or a thread. */
export function TaskDialog() {
  const { open, histories } = tasks.value;
  const history = open === null ? undefined : histories.get(open);
  return open !== null && history ? <Details key={open} of={open} history={history} /> : null;
}

function Details({ of: key, history }: { of: string; history: RateHistory }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const { item, rates } = history;
  const names = ["kind" in item ? item.kind : "", "name" in item ? item.name : ""];
  const thread = threadOf(key);
  return (
    <dialog
      ref={dialog}
      id="detail"
      class="dialog detail-dialog"
      aria-labelledby="detail-title"
      onClose={() => openItem(null)}
    >
      <div class="dialog-head">
        <h2 id="detail-title">
          <LogText value={names.filter((name) => name !== "").join(" · ") || key} title={false} />
        </h2>
        <button type="button" class="button small" autofocus onClick={() => openItem(null)}>
          Close
        </button>
      </div>
      {!isListed(history) && (
        <p class="muted">It is not listed any more: it has ended, or others are busier.</p>
      )}
      <dl class="facts">
        {factsOf(item).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{visible(text)}</dd>
          </div>
        ))}
      </dl>
      {CHARTS.map(([name, title, write, floor]) => {
        const samples = rates.get(name);
        return (
          samples && (
            <MinuteChart key={name} title={title} samples={samples} write={write} floor={floor} />
          )
        );
      })}
      {thread !== null && <Stack thread={thread} />}
    </dialog>
  );
}

function isListed({ seen_ms }: RateHistory): boolean {
  return performance.now() - seen_ms < 2 * INTERVAL_MS;
}

function Stack({ thread }: { thread: number }) {
  const [text, setText] = useState<string | null>(null);
  const show = async () => {
    setText("Loading.");
    setText(await stackOf(thread));
  };
  return (
    <>
      <p>
        <button type="button" class="button small" id="stack" onClick={() => void show()}>
          Stack
        </button>
      </p>
      {text !== null && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls needs the keyboard
        <section class="stack" tabIndex={0} aria-label="Stack">
          <pre id="stack-text">{text}</pre>
        </section>
      )}
    </>
  );
}
