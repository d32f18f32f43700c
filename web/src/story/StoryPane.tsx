import { useRef } from "preact/hooks";
import { mayHaveBlocks } from "../blocks/control";
import { fieldTitle } from "../format/field";
import { networkOf } from "../format/network";
import { count, share } from "../format/number";
import { ownValue } from "../format/ownValue";
import { capitalized, visible } from "../format/text";
import type { Report } from "../generated/Report";
import { LinesView } from "../lines/LinesView";
import { LinesAgain } from "../rules/LinesAgain";
import { OWN } from "../state/rules";
import { rules, story, view } from "../state/store";
import type { Subject } from "../state/story";
import { withoutLines } from "../state/withoutLines";
import { usePaneFocus } from "../views/focus";
import { Icon } from "../views/icons";
import { LogText } from "../views/LogText";
import {
  gapsOf,
  gapText,
  refusedText,
  ruleText,
  type Session,
  sessionsOf,
  sessionText,
  totalsText,
} from "./facts";
import { excludeSubject, filterBySubject, storyLines } from "./story";
import { Timeline } from "./Timeline";
import { closeStory, tellStory } from "./tell";

/** The lists of a story. */
const FIELDS = ["status", "path", "user_agent"];

/** A story: the requests over time, what they were, and which rules they crossed. */
export function StoryPane() {
  const { of } = story.value;
  return of !== null && <Story key={`${of.field} ${of.value}`} of={of} />;
}

function Story({ of }: { of: Subject }) {
  const isClient = of.field === "client";
  const pane = useRef<HTMLElement>(null);
  usePaneFocus(pane);
  const { report, refusal } = story.value;
  return (
    <aside
      ref={pane}
      class="pane story"
      aria-labelledby="story-title"
      data-testid="story"
      data-field={of.field}
      data-value={of.value}
    >
      <div class="pane-head">
        <h2 id="story-title">
          {!isClient && <span class="muted">{of.field} </span>}
          <LogText value={of.value} edges />
        </h2>
        <button
          type="button"
          class="button quiet icon"
          aria-label="Close the story"
          data-autofocus
          data-testid="story-close"
          onClick={closeStory}
        >
          <Icon name="close" />
        </button>
      </div>
      <Actions of={of} />
      {refusal !== null && <p class="bad">{visible(refusal)}</p>}
      {report === null ? (
        refusal === null && <p class="muted">Reading its requests…</p>
      ) : (
        <Facts report={report} />
      )}
      {isClient && <Blocks />}
      <Rules of={of} />
      {!withoutLines.value && (
        <section class="story-part" aria-label="Its lines">
          <h3>Lines</h3>
          <LinesView of={storyLines} id="story-line" />
        </section>
      )}
    </aside>
  );
}

/** What can be done about the subject. */
function Actions({ of }: { of: Subject }) {
  const network = of.field === "client" ? networkOf(of.value) : null;
  return (
    <p class="story-actions">
      <button
        type="button"
        class="button small"
        data-testid="story-filter"
        onClick={() => filterBySubject(of)}
      >
        Filter by it
      </button>
      <button
        type="button"
        class="button small"
        data-testid="story-exclude"
        onClick={() => excludeSubject(of)}
      >
        Exclude it
      </button>
      {network !== null && (
        <button
          type="button"
          class="button small"
          title={`Story of ${network}`}
          data-testid="story-network"
          onClick={() => tellStory({ field: "client", value: network })}
        >
          Its network
        </button>
      )}
    </p>
  );
}

function Facts({ report }: { report: Report }) {
  const sessions = report.histogram ? sessionsOf(report.histogram) : [];
  const gaps = report.histogram && sessions.length === 0 ? gapsOf(report.histogram) : [];
  const refused = refusedText(report);
  const hasClients = (report.distinct.client ?? 1) > 1;
  return (
    <>
      <p data-testid="story-totals" data-requests={report.matching}>
        {totalsText(report)} {refused !== null && <strong>{refused}</strong>}
      </p>
      {report.histogram && <Timeline histogram={report.histogram} />}
      {sessions.length > 1 && <Sessions sessions={sessions} />}
      {gaps.length > 0 && (
        <ul class="hint" data-testid="story-gaps">
          {gaps.map((gap) => (
            <li key={gap.from}>{gapText(gap)}</li>
          ))}
        </ul>
      )}
      <div class="story-lists">
        {[...(hasClients ? ["client"] : []), ...FIELDS]
          .filter((field) => (ownValue(report.top, field)?.length ?? 0) > 0)
          .map((field) => (
            <Values key={field} field={field} report={report} />
          ))}
      </div>
    </>
  );
}

/** The most sessions that are listed: the last ones. */
const SESSIONS_MAX = 8;

/** When it came, and how often: the last time first. */
function Sessions({ sessions }: { sessions: readonly Session[] }) {
  const listed = sessions.slice(-SESSIONS_MAX).reverse();
  const more = sessions.length - listed.length;
  return (
    <section class="story-part" aria-label="Sessions" data-testid="story-sessions">
      <h3 title="Requests with no pause of half an hour between them">
        {count(sessions.length)} sessions
      </h3>
      <ol>
        {listed.map((session) => (
          <li key={session.from}>{sessionText(session)}</li>
        ))}
      </ol>
      {more > 0 && <p class="muted">and {count(more)} before</p>}
    </section>
  );
}

/** The most frequent values of a field. */
function Values({ field, report }: { field: string; report: Report }) {
  const rows = ownValue(report.top, field) ?? [];
  const more = (ownValue(report.distinct, field) ?? rows.length) - rows.length;
  return (
    <section
      class="story-part"
      aria-label={`${fieldTitle(field)} in the story`}
      data-testid={`story-${field}`}
    >
      <h3>{fieldTitle(field)}</h3>
      <ul>
        {rows.map((row) => (
          <li key={row.value_hex ?? row.value}>
            <span class="story-value">
              <LogText value={row.value} edges />
            </span>
            <span class="top-count">{count(row.count)}</span>
            <span class="top-share">{share(row.count, report.matching)}</span>
          </li>
        ))}
      </ul>
      {more > 0 && <p class="muted">and {count(more)} more</p>}
    </section>
  );
}

/** What the logs of blocks state of the client; nothing if there are none. */
function Blocks() {
  const { blocked } = story.value;
  if (!mayHaveBlocks(view.value?.report.kinds ?? [])) return null;
  return (
    <section class="story-part" aria-label="What blocked it" data-testid="story-blocks">
      <h3>What blocked it</h3>
      {blocked === undefined && <p class="muted">Reading the blocks…</p>}
      {blocked === null && <p class="muted">No log states a block of this address.</p>}
      {blocked && (
        <p>
          <LogText value={`${blocked.sentence}.`} title={false} />
        </p>
      )}
    </section>
  );
}

/** The rules of the rules panel, and which of them the subject crossed. */
function Rules({ of }: { of: Subject }) {
  const { rules: answer, lines, refusal } = story.value;
  const hasRule = rules.value.panels[OWN].text !== null;
  return (
    <section class="story-part" aria-label="Rules" data-testid="story-rules">
      <h3>Rules</h3>
      {!hasRule && (
        <p class="hint">
          Put a rule into the rules panel to see whether these requests would have crossed it.
        </p>
      )}
      {lines !== null && <LinesAgain lines={lines} />}
      {hasRule && answer === null && lines === null && refusal === null && (
        <p class="muted">Replaying…</p>
      )}
      <ul>
        {answer?.rules.map(({ rule }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rules are told apart by their places
          <li key={at} data-tripped={rule.keys.tripped}>
            <span class="muted">
              <LogText value={rule.description} title={false} />
            </span>{" "}
            {visible(capitalized(ruleText(rule, of.value)))}
          </li>
        ))}
      </ul>
    </section>
  );
}
