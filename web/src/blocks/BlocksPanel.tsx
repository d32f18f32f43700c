import { useState } from "preact/hooks";
import { filterBy } from "../control/questions";
import { count } from "../format/number";
import { capitalized, visible, visibleLines } from "../format/text";
import type { BlockedClient } from "../generated/BlockedClient";
import type { BlocksReport } from "../generated/BlocksReport";
import { tryInForce } from "../rules/control";
import { showPanel } from "../rules/RulesLine";
import { isIncluded, toggleInclude } from "../state/filter";
import { OWN } from "../state/rules";
import { blocks, question, rules, state } from "../state/store";
import { StoryButton } from "../story/StoryButton";
import { CopyText } from "../views/CopyText";
import { LogText } from "../views/LogText";
import { ClockBox } from "./ClockBox";
import { sentenceParts, type Trial, trialOf } from "./trial";
import { countsText, crossings, crossingText, looksText, restOfSentence } from "./words";

/** Addresses that are shown until the person asks for more. */
const SHOWN = 5;

/** The addresses that the rules in force have blocked, and what they had done before. */
export function BlocksPanel() {
  const { report, isAnswered, isComplete, refusal } = blocks.value;
  if (report === null) return <NoBlocks />;
  return (
    <section
      class="panel blocks"
      aria-label="What tripped your rules"
      aria-busy={!isAnswered}
      data-testid="blocks"
      data-addresses={report.addresses}
    >
      <h2>
        What tripped your rules <span class="muted">{countsText(report)}</span>
      </h2>
      <BlockedList report={report} />
      <ClockBox clock={report.clock} refusal={refusal} />
      <p class="hint">
        {report.omissions.map((omission) => `${omission} `)}
        {report.unknown > 0 && `${count(report.unknown)} blocks are of no known address. `}
        Recorded traffic already reflects these blocks.
        {!isComplete && " The log is still being read."}
      </p>
    </section>
  );
}

/** Why there are no blocks, and where they would come from. */
function NoBlocks() {
  return (
    <section class="panel blocks" aria-label="Blocks">
      <p class="soft">
        No log of blocks was read beside the requests. Add what has blocked: the error log of nginx,
        the log of fail2ban, or that of a firewall.
      </p>
    </section>
  );
}

function BlockedList({ report }: { report: BlocksReport }) {
  const [isLong, setLong] = useState(false);
  const { clients, addresses } = report;
  const shown = isLong ? clients : clients.slice(0, SHOWN);
  return (
    <>
      <ol class="blocked">
        {shown.map((client) => (
          <BlockedItem key={client.client_hex ?? client.client} of={client} report={report} />
        ))}
      </ol>
      {clients.length > SHOWN && (
        <p class="more">
          <button type="button" class="link" onClick={() => setLong(!isLong)}>
            {isLong ? `Show ${SHOWN}` : `Show ${count(clients.length)} addresses`}
          </button>
        </p>
      )}
      {isLong && addresses > clients.length && (
        <p class="muted">and {count(addresses - clients.length)} more</p>
      )}
    </>
  );
}

function BlockedItem({ of: client, report }: { of: BlockedClient; report: BlocksReport }) {
  const value = { value: client.client, value_hex: client.client_hex };
  const known = rules.value.panels[OWN].answer?.rules ?? [];
  const crossed = crossings(client, known, report.clock.offset_s);
  const trials = client.rules.flatMap((rule) => trialOf(rule, report) ?? []);
  return (
    <li data-testid="blocked" data-client={client.client}>
      <button
        type="button"
        class="link"
        aria-pressed={isIncluded(question.value.clauses, "client", value)}
        title={`Filter by ${visible(client.client)}`}
        data-testid="blocked-client"
        onClick={() => filterBy(toggleInclude(state.value.question.clauses, "client", value))}
      >
        <LogText value={client.client} title={false} />
      </button>
      {client.client_hex === undefined && <StoryButton value={client.client} />}
      {sentenceParts(restOfSentence(client), trials).map((part) =>
        typeof part === "string" ? (
          <LogText key={part} value={part} title={false} />
        ) : (
          <TrialButton key={part.label} trial={part} />
        ),
      )}
      {crossed.map((crossing) => (
        <span key={crossing.rule} class="crossed" data-testid="blocked-crossing">
          {visible(crossingText(crossing))}
        </span>
      ))}
      <p class="blocked-looks" data-testid="blocked-looks">
        <LogText value={looksText(client)} title={false} />
      </p>
      <Remedies of={client} />
    </li>
  );
}

/** The name of a rule in a sentence, which opens the rules panel with the rule. */
function TrialButton({ trial }: { trial: Trial }) {
  return (
    <button
      type="button"
      class="link"
      title="Try this rule over the requests"
      data-testid="blocked-trial"
      onClick={() => {
        tryInForce(trial);
        showPanel();
      }}
    >
      {trial.label}
    </button>
  );
}

/** What would let the address pass each rule. */
function Remedies({ of: { client, rules } }: { of: BlockedClient }) {
  const known = rules.flatMap(({ cause, name, remedy }) =>
    remedy ? [{ cause, name, remedy }] : [],
  );
  if (known.length === 0) return null;
  return (
    <details class="remedies" data-testid="blocked-remedies">
      <summary>What would let {visible(client)} pass</summary>
      {known.map(({ cause, name, remedy: { place, text } }) => (
        <div key={`${cause} ${name}`}>
          <p>
            <LogText value={`${capitalized(place)}:`} title={false} />
          </p>
          <pre data-testid="remedy-text">{visibleLines(text)}</pre>
          <CopyText text={text} />
        </div>
      ))}
    </details>
  );
}
