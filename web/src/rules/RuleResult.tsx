import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { count, plural } from "../format/number";
import { visible } from "../format/text";
import { stampText } from "../format/time";
import type { RuleAnswer } from "../generated/RuleAnswer";
import { OWN, type Slot } from "../state/rules";
import { rules } from "../state/store";
import { StoryButton } from "../story/StoryButton";
import { LogText } from "../views/LogText";
import { CollateralLine } from "./Collateral";
import { showGrid, tryRule } from "./control";
import { KeyList } from "./KeyList";
import { LimitChart } from "./LimitChart";
import { LimitGrid } from "./LimitGrid";
import { withBurst } from "./limit";
import {
  asSentence,
  exactnessText,
  isClient,
  keysText,
  keyWords,
  leftOutText,
  lookedAtText,
  requestsText,
} from "./words";

/** Bans and alerts that are shown. */
const SHOWN = 20;

interface Props {
  answer: RuleAnswer;
  hasName: boolean;
  slot: Slot;
}

/** The effect that one rule would have had. */
export function RuleResult({ answer, hasName, slot }: Props) {
  const { rule, curve, collateral, unknown_records } = answer;
  const limit = useLimit(answer, slot);
  return (
    <article class="rule" data-testid="rule" data-tripped={rule.keys.tripped}>
      {hasName && <h3>{visible(rule.name)}</h3>}
      <p class="rule-sentence" data-testid="rule-sentence">
        <strong>{keysText(rule)}</strong> {requestsText(rule)}
      </p>
      <p class="rule-what">
        <LogText value={rule.description} title={false} />
      </p>
      <p data-testid="rule-looked-at">{visible(lookedAtText(rule))}</p>
      <p class="hint" data-testid="rule-exactness">
        {exactnessText(rule)}
        {rule.notes?.map((note) => ` ${asSentence(visible(note))}`)}
        {unknown_records > 0 &&
          ` ${plural(unknown_records, "request")} were left out, because memory ran out for their values.`}
      </p>
      {curve && curve.peaks.length > 0 && (
        <LimitChart
          answer={answer}
          burst={limit.burst}
          noun={keyWords(rule)}
          onMove={limit.move}
          onRelease={limit.release}
        />
      )}
      {collateral && rule.looked_at.nothing === undefined && (
        <CollateralLine
          answer={answer}
          collateral={collateral}
          burst={curve ? limit.burst : null}
        />
      )}
      {slot === OWN && curve && curve.peaks.length > 0 && <OtherSettings answer={answer} />}
      <KeyList answer={answer} burst={curve ? limit.burst : null} />
      <Bans answer={answer} />
      <Alerts answer={answer} />
      <LeftOut answer={answer} />
    </article>
  );
}

/** Other rates and bursts, once the person asks for them. */
function OtherSettings({ answer: { grid, rule } }: { answer: RuleAnswer }) {
  const { hasGrid } = rules.value.lab;
  // The picture is not drawn again while the limit line moves.
  const picture = useMemo(
    () => grid && <LimitGrid grid={grid} noun={keyWords(rule)} />,
    [grid, rule],
  );
  return (
    <div class="other-settings">
      <button
        type="button"
        class="button small"
        aria-expanded={hasGrid}
        data-testid="grid-open"
        onClick={() => showGrid(!hasGrid)}
      >
        {hasGrid ? "Hide other settings" : "What limit should I set?"}
      </button>
      {hasGrid && (picture ?? <p class="muted">Other rates and bursts are being tried.</p>)}
    </div>
  );
}

/** The burst at which the line stands, and that of the rule until it is moved. */
function useLimit({ curve }: RuleAnswer, slot: Slot) {
  const own = curve?.burst ?? 0;
  const [moved, setMoved] = useState<{ burst: number; from: number } | null>(null);
  // A line that was moved stays until the rule has its burst.
  const burst = moved !== null && moved.from === own ? moved.burst : own;
  // Otherwise the line would return to its old place once the rule is changed back.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is about the change of the rule
  useLayoutEffect(() => setMoved(null), [own]);
  return {
    burst,
    move: (to: number) => setMoved({ burst: to, from: own }),
    release: (to: number) => {
      const { text } = rules.peek().panels[slot];
      if (text !== null && to !== own) tryRule(withBurst(text, to), slot);
    },
  };
}

/** The bans of a rule, in their order. */
function Bans({ answer }: { answer: RuleAnswer }) {
  const { bans } = answer.rule;
  if (bans.length === 0) return null;
  return (
    <div class="rule-events" data-testid="rule-bans">
      <h3>{plural(answer.bans, "ban")}</h3>
      <ul>
        {bans.slice(0, SHOWN).map((ban) => (
          <li key={`${ban.key} ${ban.time}`}>
            <LogText value={ban.key} />
            {isClient(ban.key) && <StoryButton value={ban.key} />} {stampText(ban.time)}
            {ban.until === null ? ", for good" : ` to ${stampText(ban.until)}`}
            {ban.already_banned && ", already banned"}
          </li>
        ))}
      </ul>
      <Rest all={answer.bans} />
    </div>
  );
}

/** The alerts of a rule, in their order. */
function Alerts({ answer }: { answer: RuleAnswer }) {
  const { alerts } = answer.rule;
  if (alerts.length === 0) return null;
  return (
    <div class="rule-events" data-testid="rule-alerts">
      <h3>{plural(answer.alerts, "alert")}</h3>
      <ul>
        {alerts.slice(0, SHOWN).map((alert) => (
          <li key={`${alert.scenario} ${alert.source} ${alert.time}`}>
            <LogText value={alert.source} />
            {isClient(alert.source) && <StoryButton value={alert.source} />} {stampText(alert.time)}
            ,
            <LogText value={alert.scenario} />, {plural(alert.events, "event")}
          </li>
        ))}
      </ul>
      <Rest all={answer.alerts} />
    </div>
  );
}

/** The rules of a set that the log cannot decide, by reason. */
function LeftOut({ answer: { rule } }: { answer: RuleAnswer }) {
  const groups = rule.left_out ?? [];
  if (groups.length === 0) return null;
  const all = groups.reduce((sum, { rules }) => sum + rules, 0);
  return (
    <div class="rule-events" data-testid="rule-left-out">
      <h3>{plural(all, "rule")} left out</h3>
      <ul>
        {groups.slice(0, SHOWN).map((group) => (
          <li key={group.reason}>{visible(leftOutText(group))}</li>
        ))}
      </ul>
      {groups.length > SHOWN && (
        <p class="muted">and {plural(groups.length - SHOWN, "other reason")}</p>
      )}
    </div>
  );
}

function Rest({ all }: { all: number }) {
  return all > SHOWN ? <p class="muted">and {count(all - SHOWN)} more</p> : null;
}
