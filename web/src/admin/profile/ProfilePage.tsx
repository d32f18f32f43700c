import { useMemo, useState } from "preact/hooks";
import { count } from "../../format/number";
import { visible } from "../../format/text";
import { AskForm, SecondsField } from "../AskForm";
import { profile } from "../store";
import { Table } from "../Table";
import { FORMATS, KINDS, type ProfileFormat, saveProfile, takeProfile } from "./control";
import { Flame } from "./Flame";
import {
  type Choice,
  chosenStacks,
  functionColumns,
  functionSamples,
  isFound,
  type Profile,
  partsOf,
  type Stack,
  shareText,
} from "./stacks";
import { treeOf } from "./tree";

const SECONDS = 10;
const SAMPLES_PER_SECOND = 99;

/** Functions that are listed at first. */
const LISTED_MAX = 50;

/** A smaller share would be shown as 0.00%, and is not listed at first. */
const SHARE_MIN = 0.00005;

/** Where the time or the memory of the program goes. */
export function ProfilePage() {
  const { profile: taken } = profile.value;
  return (
    <main>
      <h1>Profile</h1>
      <AskForm
        waiting={profile.value}
        action="Take a profile"
        onAsk={(form) => void takeProfile(form)}
      >
        <SecondsField initial={SECONDS} />
        <label>
          Samples per second{" "}
          <input
            name="hz"
            type="number"
            min={1}
            max={999}
            defaultValue={SAMPLES_PER_SECOND}
            required
          />
        </label>
        <label>
          Of{" "}
          <select id="kind" name="kind">
            {Object.entries(KINDS).map(([kind, noun]) => (
              <option key={kind} value={kind}>
                {noun}
              </option>
            ))}
          </select>
        </label>
      </AskForm>
      {taken !== null && taken.samples > 0 ? (
        <Found key={taken.id} profile={taken} />
      ) : (
        <p class="panel empty" id="empty">
          A profile shows in which functions the time or the memory of this program goes, as a flame
          graph and as a table. Give the program some work, and select “Take a profile”.
        </p>
      )}
    </main>
  );
}

function Found({ profile: taken }: { profile: Profile }) {
  const [choice, setChoice] = useState<Choice>({ stage: "", thread: "" });
  const [wanted, setWanted] = useState("");
  const stacks = useMemo(() => chosenStacks(taken.stacks, choice), [taken, choice]);
  const root = useMemo(() => treeOf(stacks, choice.thread), [stacks, choice.thread]);
  return (
    <>
      <section class="panel" id="found" aria-label="The profile">
        <div class="controls">
          <PartSelect profile={taken} part="stage" choice={choice} choose={setChoice} />
          <PartSelect profile={taken} part="thread" choice={choice} choose={setChoice} />
          <label>
            Find{" "}
            <input
              id="find"
              type="search"
              placeholder="a part of a function’s name"
              autocomplete="off"
              onInput={(event) => setWanted(event.currentTarget.value)}
            />
          </label>
          {wanted.trim() !== "" && <output>{foundText(stacks, wanted, root.total)}</output>}
          <span class="downloads">
            Save as <SaveButton format="pprof" /> or <SaveButton format="folded" />
          </span>
        </div>
        <p class="hint">
          The width is {taken.noun}. Select a function to zoom in. Arrow keys move, Enter zooms in,
          Escape zooms out.
        </p>
        <Flame
          key={`${choice.stage}\n${choice.thread}`}
          profile={taken}
          root={root}
          wanted={wanted}
        />
      </section>
      <Functions stacks={stacks} all={root.total} wanted={wanted} />
    </>
  );
}

interface PartProps {
  profile: Profile;
  part: keyof Choice;
  choice: Choice;
  choose: (choice: Choice) => void;
}

/** A choice of a stage or a thread, the largest first. */
function PartSelect({ profile: taken, part, choice, choose }: PartProps) {
  const parts = useMemo(() => partsOf(taken, part), [taken, part]);
  return (
    <label>
      {part === "stage" ? "Stage" : "Thread"}{" "}
      <select
        id={part}
        value={choice[part]}
        onChange={(event) => choose({ ...choice, [part]: event.currentTarget.value })}
      >
        <option value="">all {parts.length}</option>
        {parts.map(({ name, text }) => (
          <option key={name} value={name}>
            {visible(text)}
          </option>
        ))}
      </select>
    </label>
  );
}

const FORMAT_WORDS: Record<ProfileFormat, string> = { pprof: "pprof", folded: "folded stacks" };

function SaveButton({ format }: { format: ProfileFormat }) {
  return (
    <button
      type="button"
      class="link"
      title={`weir.${FORMATS[format]}`}
      onClick={() => void saveProfile(format)}
    >
      {FORMAT_WORDS[format]}
    </button>
  );
}

/** The share of the samples with a function that is searched for. */
function foundText(stacks: readonly Stack[], wanted: string, all: number): string {
  const found = stacks.filter(({ functions }) => functions.some((name) => isFound(name, wanted)));
  const samples = found.reduce((sum, stack) => sum + stack.samples, 0);
  return `in ${shareText(samples, all)} of the samples`;
}

interface FunctionsProps {
  stacks: readonly Stack[];
  /** The samples of all of them. */
  all: number;
  wanted: string;
}

function Functions({ stacks, all, wanted }: FunctionsProps) {
  const [sort, setSort] = useState({ key: "own", isAscending: false });
  const [hasAll, setAll] = useState(false);
  const times = useMemo(() => functionSamples(stacks), [stacks]);
  const columns = useMemo(() => functionColumns(all), [all]);
  const matching = times.filter(({ name }) => wanted.trim() === "" || isFound(name, wanted));
  const key = sort.key === "total" ? "total" : "own";
  const notable = matching
    .filter((time) => time[key] >= SHARE_MIN * all)
    .sort((a, b) => b[key] - a[key])
    .slice(0, LISTED_MAX);
  const shown = hasAll ? matching : notable;
  const left = matching.length - shown.length;
  return (
    <section class="panel" aria-label="Functions">
      <div class="long">
        <Table
          id="functions"
          columns={columns}
          rows={shown}
          keyOf={({ name }) => name}
          sort={sort}
          onSort={setSort}
        />
      </div>
      {left > 0 && (
        <p class="hint">
          <span id="more">{count(left)} more functions are not listed.</span>{" "}
          <button type="button" class="button small" id="all" onClick={() => setAll(true)}>
            Show all
          </button>
        </p>
      )}
    </section>
  );
}
