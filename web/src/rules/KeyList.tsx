import { useMemo, useState } from "preact/hooks";
import { filterBy } from "../control/questions";
import { count, plural, trimmed } from "../format/number";
import { capitalized, visible } from "../format/text";
import { stampText } from "../format/time";
import type { ClientProfile } from "../generated/ClientProfile";
import type { GoodReason } from "../generated/GoodReason";
import type { ReplayedKey } from "../generated/ReplayedKey";
import type { RuleAnswer } from "../generated/RuleAnswer";
import type { Verdict } from "../generated/Verdict";
import { isIncluded, toggleInclude } from "../state/filter";
import { question, state } from "../state/store";
import { StoryButton } from "../story/StoryButton";
import { LogText } from "../views/LogText";
import { REASON_TITLES, reasonText } from "./good";
import { position, verdictAt } from "./limit";
import { looksTitle, marksText, profileText } from "./looks";
import { boundsText, isClient, keyWords, verdictWord } from "./words";

/** Keys that are shown until the person asks for more. */
const SHOWN = 20;

/** The keys of a rule, those that came closest to the limit first. `burst` is where its line stands. */
export function KeyList({ answer, burst }: { answer: RuleAnswer; burst: number | null }) {
  const [isLong, setLong] = useState(false);
  const { rule } = answer;
  const keys = useMemo(() => [...rule.trips, ...rule.closest], [rule]);
  const { one, many } = keyWords(rule);
  const highest = keys.reduce((most, { peak }) => Math.max(most, peak), burst ?? 0);
  const end = Math.max(position(highest), 1e-9);
  const shown = isLong ? keys : keys.slice(0, SHOWN);
  const good = useMemo(
    () => new Map(answer.collateral?.clients.map(({ key, reasons }) => [key, reasons])),
    [answer],
  );
  const profiles = useMemo(
    () => new Map(rule.clients?.map((profile) => [profile.client, profile])),
    [rule],
  );
  if (keys.length === 0) return null;
  return (
    <>
      <table class="keys" data-testid="rule-keys">
        <caption class="visually-hidden">
          {capitalized(many)}, the closest to the limit first
        </caption>
        <thead>
          <tr>
            <th scope="col">{capitalized(one)}</th>
            <th
              scope="col"
              class="number"
              title={
                burst === null ? "The highest count" : "Requests over the rate at the worst moment"
              }
            >
              Peak
            </th>
            <th
              scope="col"
              class="number"
              title={`The peak less the ${burst === null ? "limit" : "burst"}`}
            >
              Over
            </th>
            <th scope="col">Verdict</th>
            <th scope="col" class="number extra">
              Rejected
            </th>
            <th scope="col" class="extra">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((key) => (
            <KeyRow
              key={`${key.limit} ${key.key_hex ?? key.key}`}
              of={key}
              profile={profiles.get(key.key)}
              good={good.get(key.key)}
              burst={burst}
              verdict={burst === null ? key.verdict : verdictAt(key, burst)}
              scale={end}
            />
          ))}
        </tbody>
      </table>
      {keys.length > SHOWN && (
        <p class="more">
          <button type="button" class="link" onClick={() => setLong(!isLong)}>
            {isLong ? `Show ${SHOWN}` : `Show ${count(keys.length)} ${many}`}
          </button>
        </p>
      )}
    </>
  );
}

interface RowProps {
  of: ReplayedKey;
  /** Who it is, if that is known. */
  profile: ClientProfile | undefined;
  /** Why it looks good, if it does. */
  good: GoodReason[] | undefined;
  burst: number | null;
  verdict: Verdict;
  /** The length of the longest bar. */
  scale: number;
}

function KeyRow({ of: key, profile, good, burst, verdict, scale }: RowProps) {
  const share = (value: number) => Math.min(1, position(value) / scale);
  const over = burst === null ? key.margin : key.peak - burst;
  const limit = burst ?? key.peak - key.margin;
  return (
    <tr class={`key ${verdict}`} data-testid="rule-key" data-key={key.key} data-verdict={verdict}>
      <th scope="row">
        <span class="key-bar" style={{ transform: `scaleX(${share(key.peak)})` }} />
        <span class="key-limit" style={{ left: `${100 * share(limit)}%` }} />
        <KeyName of={key} />
        {profile && <Who profile={profile} />}
        {good && !profile && (
          <span
            class="key-good"
            title={good.map((reason) => REASON_TITLES[reason]).join(". ")}
            data-testid="key-good"
          >
            <span class="key-reasons">{good.map(reasonText).join(", ")}</span>
            <span class="key-brief" aria-hidden="true">
              good
            </span>
          </span>
        )}
      </th>
      <td class="number" title={rangeTitle(key)}>
        {trimmed(key.peak, 1)}
      </td>
      <td class="number">{`${over > 0 ? "+" : over < 0 ? "−" : ""}${trimmed(Math.abs(over), 1)}`}</td>
      <td>{verdictWord(verdict, over > 0)}</td>
      <td class="number extra" title={requestsTitle(key)}>
        {count(key.likely_rejected ?? key.rejected)}
      </td>
      <td class="extra">{stampText(key.time)}</td>
    </tr>
  );
}

/** What a client looks like, and what its requests are. */
function Who({ profile }: { profile: ClientProfile }) {
  const { looks, good = [] } = profile;
  const titles = [looksTitle(profile), ...good.map((reason) => REASON_TITLES[reason])];
  const kind = good.length > 0 ? "good" : looks;
  return (
    <span class="key-who" data-testid="key-who">
      <span class={`key-looks ${kind}`} title={[...new Set(titles)].join(". ")}>
        {marksText(profile)}
      </span>{" "}
      <LogText value={profileText(profile)} />
    </span>
  );
}

/** The key, which filters the page if it is a client. */
function KeyName({ of: { key, key_hex, limit } }: { of: ReplayedKey }) {
  const text = (
    <>
      <LogText value={key} edges />
      {limit !== undefined && <span class="muted"> {visible(limit)}</span>}
    </>
  );
  if (!isClient(key)) return <span class="key-name">{text}</span>;
  const value = { value: key, value_hex: key_hex };
  return (
    <span class="key-client">
      <button
        type="button"
        class="key-name"
        aria-pressed={isIncluded(question.value.clauses, "client", value)}
        title={`Filter by ${visible(key)}`}
        data-testid="rule-client"
        onClick={() => filterBy(toggleInclude(state.value.question.clauses, "client", value))}
      >
        {text}
      </button>
      {key_hex === undefined && <StoryButton value={key} />}
    </span>
  );
}

function rangeTitle({ peak_range }: ReplayedKey): string | undefined {
  if (!peak_range) return undefined;
  const [lowest, highest] = peak_range;
  return `between ${trimmed(lowest, 1)} and ${trimmed(highest, 1)}`;
}

function requestsTitle(key: ReplayedKey): string {
  const { passed, delayed, rejected, undecided, likely_rejected } = key;
  const all = plural(passed + delayed + rejected + undecided, "request");
  if (likely_rejected !== undefined) {
    return `${all}: about ${count(likely_rejected)} rejected${boundsText(rejected, undecided)}`;
  }
  const open = undecided > 0 ? `, ${count(undecided)} undecided` : "";
  return `${all}: ${count(passed)} passed, ${count(delayed)} delayed, ${count(rejected)} rejected${open}`;
}
