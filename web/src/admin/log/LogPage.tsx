import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "../../format/text";
import { useLooking } from "../ask";
import { momentText } from "../numbers";
import { log } from "../store";
import { changeFilter, lookAtLog } from "./control";
import { fieldsText, type NumberedEvent, repeatsText } from "./events";

/** The longest filter that the program takes. */
const FILTER_MAX = 4096;

/** The last messages of the program, and their filter. */
export function LogPage() {
  useLooking(lookAtLog);
  const { events, level_max, isKnown, filter } = log.value;
  return (
    <main>
      <h1>Log</h1>
      <FilterForm filter={filter} />
      <p class="hint">
        The filter is a level for all messages (off, error, warn, info, debug or trace), and other
        levels for single crates, such as info,weir_net=warn. It applies until the program exits or
        the filter is changed again.{" "}
        <span id="level">
          {isKnown && level_max !== "trace" && `This build has no messages below ${level_max}.`}
        </span>
      </p>
      <section class="panel" aria-label="The last messages, the newest first">
        {events.length === 0 ? (
          <p id="none">{isKnown ? "No message so far." : "Loading."}</p>
        ) : (
          <ol id="events">
            {events.map((one) => (
              <EventItem key={one.number} of={one} />
            ))}
          </ol>
        )}
      </section>
    </main>
  );
}

function FilterForm({ filter }: { filter: string }) {
  const [isChanging, setChanging] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  // Another filter of the program replaces what was typed.
  useLayoutEffect(() => {
    if (input.current) input.current.value = filter;
  }, [filter]);
  const { message, isBad } = log.value;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setChanging(true);
    await changeFilter(String(form.get("filter")));
    setChanging(false);
  };
  return (
    <form class="panel controls" onSubmit={(event) => void submit(event)}>
      <label>
        Filter{" "}
        <input
          ref={input}
          id="filter"
          name="filter"
          type="search"
          maxLength={FILTER_MAX}
          spellcheck={false}
          autocomplete="off"
        />
      </label>
      <button type="submit" class="button primary" id="apply" disabled={isChanging}>
        Apply
      </button>
      <output id="message" class={isBad ? "bad" : ""}>
        {message.split("\n").map(visible).join("\n")}
      </output>
    </form>
  );
}

function EventItem({ of: { event } }: { of: NumberedEvent }) {
  return (
    <li class={event.level}>
      <time dateTime={event.time}>{momentText(event.time)}</time>
      <span class="level">{event.level}</span>
      <p>
        <span class="muted">{visible(event.target)}: </span>
        {visible(event.message)}
        <span class="muted">{fieldsText(event)}</span>
        {repeatsText(event)}
      </p>
    </li>
  );
}
