import { useEffect, useRef, useState } from "preact/hooks";
import { span } from "../format/duration";
import { frequency } from "../format/number";
import { visible } from "../format/text";
import type { Source } from "../generated/Source";
import { view } from "../state/store";
import { isOpen } from "./isLive";
import { type LiveSource, Pulse, type Silence } from "./pulse";

/** The time between two looks at a rate that falls while nothing comes. */
const TICK_MS = 1_000;

/** The rate now, and what has fallen silent. */
export function LiveNow() {
  const pulse = useRef(new Pulse());
  const [{ perSecond, silent }, show] = useState<{ perSecond: number; silent: Silence[] }>({
    perSecond: 0,
    silent: [],
  });
  const { sources } = view.value ?? { sources: [] };
  useEffect(() => pulse.current.note(performance.now(), sources.map(liveSource)), [sources]);
  useEffect(() => {
    const look = () => {
      const now_ms = performance.now();
      const { current } = pulse;
      show({ perSecond: current.perSecond(now_ms), silent: current.silent(now_ms) });
    };
    const timer = setInterval(look, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const [longest] = silent;
  return (
    <>
      <span class="tag live" data-testid="live-now" title="Lines of all sources, in the last 10 s">
        <span class="live-dot" aria-hidden="true" />
        now {perSecond > 0 ? frequency(perSecond) : "nothing"}
      </span>
      {longest && (
        <span class="tag silent" role="status" data-testid="live-silent">
          {visible(longest.name.split("/").at(-1) ?? "")} silent for {span(longest.seconds)}
          {silent.length > 1 && `, and ${silent.length - 1} more`}
        </span>
      )}
    </>
  );
}

function liveSource(source: Source): LiveSource {
  const { number, name, lines } = source;
  return { number, name: name || "standard input", lines, isOpen: isOpen(source) };
}
