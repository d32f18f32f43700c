import { useState } from "preact/hooks";
import { filterBy } from "../control/questions";
import { count } from "../format/number";
import { visible } from "../format/text";
import type { BlockedClient } from "../generated/BlockedClient";
import type { BlocksReport } from "../generated/BlocksReport";
import { isIncluded, toggleInclude } from "../state/filter";
import { OWN } from "../state/rules";
import { blocks, question, rules, state } from "../state/store";
import { StoryButton } from "../story/StoryButton";
import { LogText } from "../views/LogText";
import { ClockBox } from "./ClockBox";
import { countsText, crossings, crossingText, restOfSentence } from "./words";

/** Addresses that are shown until the person asks for more. */
const SHOWN = 5;

/** The addresses that the rules in force have blocked, and what they had done before. */
export function BlocksPanel() {
  const { report, isAnswered, isComplete, refusal } = blocks.value;
  if (report === null) return null;
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

function BlockedList({ report }: { report: BlocksReport }) {
  const [isLong, setLong] = useState(false);
  const { clients, addresses } = report;
  const shown = isLong ? clients : clients.slice(0, SHOWN);
  return (
    <>
      <ol class="blocked">
        {shown.map((client) => (
          <BlockedItem
            key={client.client_hex ?? client.client}
            of={client}
            offset_s={report.clock.offset_s}
          />
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

function BlockedItem({ of: client, offset_s }: { of: BlockedClient; offset_s: number }) {
  const value = { value: client.client, value_hex: client.client_hex };
  const known = rules.value.panels[OWN].answer?.rules ?? [];
  const crossed = crossings(client, known, offset_s);
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
      {client.client_hex === undefined && <StoryButton client={client.client} />}
      <LogText value={restOfSentence(client)} title={false} />
      {crossed.map((crossing) => (
        <span key={crossing.rule} class="crossed" data-testid="blocked-crossing">
          {visible(crossingText(crossing))}
        </span>
      ))}
    </li>
  );
}
