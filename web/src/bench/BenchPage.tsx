import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { bytes, rate } from "../format/bytes";
import { visible } from "../format/text";
import { MIB, type Plan } from "../upload/plan";
import { carriesFiles } from "../views/files";
import { Header } from "../views/Header";
import { LogText } from "../views/LogText";
import { WAYS, type Way } from "./measure";
import { sample } from "./sample";
import { bench, type Result, speed, start, verdict } from "./state";

const SIZES_MIB = [256, 512, 1024];

const TITLES: Record<Way, string> = {
  read: "Reading the file, nothing sent",
  plain: "The plain way",
  discarded: "Weir’s way, bytes discarded",
  parsed: "Weir’s way, every line parsed",
};

const NOTES: Record<Way, string> = {
  read: "slices of 16 MiB, one at a time",
  plain: "messages of 1 MiB, each waits for its ack",
  discarded: "",
  parsed: "",
};

/** The page that measures uploads. */
export function BenchPage() {
  // Before the first paint: without it a dropped file would replace the page.
  useLayoutEffect(listen, []);
  const { name, bytes_total, isRunning, failure } = bench.value;
  return (
    <>
      <Header />
      <main class="bench">
        <h1>How fast does this browser upload?</h1>
        <p class="lead">
          A file is read, sent in the plain way, sent as Weir’s page sends it, and sent once more to
          be parsed. It goes to the Weir that serves this page and is kept nowhere.
        </p>
        <Choice isRunning={isRunning} />
        {name !== null && (
          <section class="panel bench-results" aria-label="Speeds" aria-busy={isRunning}>
            <p class="bench-file">
              <LogText value={name} /> <span class="muted">{bytes(bytes_total)}</span>
            </p>
            <ul>
              {WAYS.map((way) => (
                <Row key={way} way={way} />
              ))}
            </ul>
          </section>
        )}
        <p class="bench-verdict" aria-live="polite" data-testid="bench-verdict">
          {verdict(bench.value)}
        </p>
        {failure !== null && (
          <p class="banner bad" role="alert" data-testid="bench-failure">
            <strong>It ended early.</strong> {visible(failure)}
          </p>
        )}
      </main>
    </>
  );
}

/** The choice of a file to measure with. */
function Choice({ isRunning }: { isRunning: boolean }) {
  const input = useRef<HTMLInputElement>(null);
  const [size, setSize] = useState(SIZES_MIB[1]!);
  const picked = () => {
    const file = input.current?.files?.[0];
    if (file) void start(file.name, file);
    if (input.current) input.current.value = "";
  };
  return (
    <div class="drop-zone bench-choice" data-testid="bench-drop">
      <p class="lead">Drop a large log here, or</p>
      <div class="bench-buttons">
        <button
          type="button"
          class="button primary"
          disabled={isRunning}
          onClick={() => input.current?.click()}
        >
          Choose a file…
        </button>
        <input
          ref={input}
          class="visually-hidden"
          type="file"
          tabIndex={-1}
          aria-label="File to measure with"
          data-testid="bench-file-input"
          onChange={picked}
        />
        <span class="bench-sample">
          <button
            type="button"
            class="button"
            disabled={isRunning}
            data-testid="bench-sample"
            onClick={() => void start(`${size} MiB made up in memory`, sample(size * MIB))}
          >
            Make one up
          </button>
          <label>
            of{" "}
            <select
              value={size}
              disabled={isRunning}
              data-testid="bench-size"
              onChange={(event) => setSize(Number(event.currentTarget.value))}
            >
              {SIZES_MIB.map((mib) => (
                <option key={mib} value={mib}>
                  {mib} MiB
                </option>
              ))}
            </select>
          </label>
        </span>
      </div>
    </div>
  );
}

function Row({ way }: { way: Way }) {
  const { results, bytes_total } = bench.value;
  const result = results[way];
  const fastest = Math.max(...WAYS.map((one) => (results[one] ? speed(results[one]) : 0)), 1);
  const own = result ? speed(result) : 0;
  const state = !result ? "waiting" : result.isOver ? "done" : "running";
  return (
    <li class={`bench-row ${way}`} data-testid={`bench-${way}`} data-state={state} data-rate={own}>
      <span class="bench-title">{TITLES[way]}</span>
      <span class="bench-rate">{result ? rate(own) : "–"}</span>
      <span
        class="meter"
        role="img"
        aria-label={`${TITLES[way]}: ${result ? rate(own) : "not yet"}`}
      >
        <span style={{ transform: `scaleX(${own / fastest})` }} />
      </span>
      <span class="bench-note">
        {note(way, result)}
        {state === "running" && ` · ${Math.floor((result!.bytes_done / bytes_total) * 100)} %`}
      </span>
    </li>
  );
}

function note(way: Way, result: Result | undefined): string {
  if (!result?.plan) return NOTES[way];
  return `${result.isOver ? "chose" : "tries"} ${planText(result.plan)}`;
}

function planText({ message_bytes, in_flight, sockets }: Plan): string {
  const connections = sockets === 1 ? "one connection" : "two connections";
  return `messages of ${message_bytes / MIB} MiB, ${in_flight} in flight, ${connections}`;
}

function listen(): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  // Without these the browser would open the file in place of the page.
  addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault(), options);
  addEventListener("drop", dropped, options);
  return () => stop.abort();
}

function dropped(event: DragEvent): void {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) void start(file.name, file);
}
