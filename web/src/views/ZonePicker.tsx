import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { attempt } from "../control/questions";
import { visible } from "../format/text";
import { question } from "../state/store";

const OTHER = "another";
const BROWSER = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Created once: there are about 400, and the page renders up to 20 times a second. */
const ZONES = (
  <datalist id="zones">
    {Intl.supportedValuesOf("timeZone").map((zone) => (
      <option key={zone} value={zone} />
    ))}
  </datalist>
);

/** Chooses the zone in which times are shown and days begin. */
export function ZonePicker({ shown }: { shown: string }) {
  const { zone } = question.value;
  const [isTyping, setTyping] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const list = useRef<HTMLSelectElement>(null);
  const choose = async (chosen: string | null) => {
    const outcome = await attempt({ zone: chosen });
    setRefusal(outcome.refusal);
    // A refused choice changes no state, so that nothing else would take it back.
    if (!outcome.isAccepted && list.current) list.current.value = isTyping ? OTHER : (zone ?? "");
    if (outcome.isAccepted) setTyping(false);
  };
  const onSelect = (value: string) => {
    setRefusal(null);
    setTyping(value === OTHER);
    if (value !== OTHER) void choose(value || null);
  };
  return (
    <span class="zone-picker">
      <label>
        Times in{" "}
        <select
          ref={list}
          value={isTyping ? OTHER : (zone ?? "")}
          data-testid="zone"
          onChange={(event) => onSelect(event.currentTarget.value)}
        >
          <option value="">
            {zone === null ? `the log’s own zone, ${shown}` : "the log’s own zone"}
          </option>
          {namedZones(zone).map((name) => (
            <option key={name} value={name}>
              {name === BROWSER && name !== "UTC" ? `${name}, as here` : visible(name)}
            </option>
          ))}
          <option value={OTHER}>another zone…</option>
        </select>
      </label>
      {isTyping && (
        <ZoneInput choose={(name) => void choose(name)} cancel={() => onSelect(zone ?? "")} />
      )}
      {refusal !== null && (
        <span class="refusal" role="alert" data-testid="zone-refusal">
          {visible(refusal)}
        </span>
      )}
    </span>
  );
}

/** The zones in the list: UTC, that of the browser, and the current one. */
function namedZones(zone: string | null): string[] {
  return [...new Set(["UTC", BROWSER, ...(zone === null ? [] : [zone])])];
}

function ZoneInput({ choose, cancel }: { choose: (name: string) => void; cancel: () => void }) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    cancel();
  };
  const take = (value: string) => {
    if (value.trim() !== "") choose(value.trim());
  };
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []);
  return (
    <>
      <input
        ref={input}
        type="text"
        list="zones"
        placeholder="Europe/Zurich"
        aria-label="Time zone"
        autoComplete="off"
        spellcheck={false}
        data-testid="zone-name"
        onChange={(event) => take(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {ZONES}
    </>
  );
}
