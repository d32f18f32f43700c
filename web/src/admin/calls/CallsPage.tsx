import { useState } from "preact/hooks";
import type { CallProfile } from "../../generated/CallProfile";
import { LogText } from "../../views/LogText";
import { AskForm, SecondsField } from "../AskForm";
import { ask } from "../ask";
import { calls, update } from "../store";
import { Table } from "../Table";
import { waitFor } from "../waiting";
import { byFunction, COLUMNS, eachOf, related, summaryText } from "./calls";

const SECONDS = 5;

/** Counts the calls of marked functions, and shows callers and called functions. */
export function CallsPage() {
  const { answer } = calls.value;
  const hasCalls = answer !== null && answer.calls.length > 0;
  return (
    <main>
      <h1>Calls</h1>
      <AskForm waiting={calls.value} action="Count the calls" onAsk={(form) => void count(form)}>
        <SecondsField initial={SECONDS} />
      </AskForm>
      {hasCalls ? (
        <Functions of={answer} />
      ) : (
        <p class="panel empty" id="empty">
          This page counts the calls of the marked functions, which are few and important, for some
          seconds: how often each was called and by which other, and how long it took. Give the
          program some work, and select “Count the calls”.
        </p>
      )}
    </main>
  );
}

async function count(form: FormData): Promise<void> {
  const seconds = Number(form.get("seconds"));
  await waitFor(
    seconds,
    (waiting) => update("calls", waiting),
    async () => {
      const response = await ask(`/profile/calls.json?seconds=${seconds}`);
      const answer = (await response.json()) as CallProfile;
      update("calls", { answer });
      return summaryText(answer);
    },
  );
}

function Functions({ of: answer }: { of: CallProfile }) {
  const [sort, setSort] = useState({ key: "own", isAscending: false });
  const [open, setOpen] = useState<string | null>(null);
  return (
    <section class="panel" id="found" aria-label="The marked functions">
      <p class="hint">
        Only marked functions are listed. Own time excludes the marked functions that a function
        calls. Select a function to see its callers and the functions that it calls.
      </p>
      <div class="long">
        <Table
          id="functions"
          columns={COLUMNS}
          rows={byFunction(answer.calls)}
          keyOf={({ name }) => name}
          sort={sort}
          onSort={setSort}
          open={open}
          onOpen={(name) => setOpen(open === name ? null : name)}
          below={({ name }) => <Related of={answer} name={name} />}
        />
      </div>
    </section>
  );
}

/** Rows for the callers of a function and for the functions that it called. */
function Related({ of: answer, name }: { of: CallProfile; name: string }) {
  return (
    <>
      {related(answer.calls, name).map(({ text, sums }) => (
        <tr key={text} class="related">
          <td class="text function">
            <LogText value={text} />
          </td>
          {COLUMNS.slice(1).map((column) => {
            const value = column.key === "each" ? eachOf(sums) : column.value(sums);
            return (
              <td key={column.key} data-title={column.title}>
                {typeof value === "number" ? column.write(value) : "–"}
              </td>
            );
          })}
        </tr>
      ))}
    </>
  );
}
