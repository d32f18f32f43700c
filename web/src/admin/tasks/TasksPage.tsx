import type { ComponentChildren } from "preact";
import { plural } from "../../format/number";
import type { Tasks } from "../../generated/Tasks";
import { useLooking } from "../ask";
import type { Sort } from "../sorting";
import { tasks } from "../store";
import { Table } from "../Table";
import { findTasks, lookAtTasks, openItem, sortTable } from "./control";
import { TaskDialog } from "./TaskDialog";
import {
  busyText,
  KIND_COLUMNS,
  kindKey,
  RUNTIME_COLUMNS,
  TASK_COLUMNS,
  type TableName,
  THREAD_COLUMNS,
  taskKey,
  threadKey,
} from "./tables";

/** The tasks and the threads of the program, as an operating system lists processes. */
export function TasksPage() {
  useLooking(lookAtTasks);
  const { answer, failure } = tasks.value;
  return (
    <main>
      <h1>Tasks and threads</h1>
      <Message />
      {answer && <Tables of={answer} isOld={failure !== null} />}
      <p class="hint">
        Busy is the share of the last second in which a task ran. Scheduled is the share in which it
        was ready and waited for a thread. Both are estimates from a sample of its polls. Select a
        name for its last minute and its place in the code. The same for programs:{" "}
        <a href="/tasks.json">tasks.json</a>.
      </p>
      <TaskDialog />
    </main>
  );
}

function Message() {
  const { answer, failure } = tasks.value;
  const text =
    failure !== null
      ? `Weir does not answer: ${failure}. The page tries again.`
      : !answer
        ? "Loading."
        : answer.span
          ? ""
          : "Rates will be known in a second.";
  return (
    <p id="message" class={failure !== null ? "bad" : ""} role="status">
      {text}
    </p>
  );
}

function Tables({ of: answer, isOld }: { of: Tasks; isOld: boolean }) {
  const { sorts, find } = tasks.value;
  const sortOf = (name: TableName) => ({
    id: name,
    sort: sorts[name],
    onSort: (sort: Sort) => sortTable(name, sort),
  });
  return (
    <div class={isOld ? "tables is-old" : "tables"}>
      <Section id="kinds" title="Kinds of tasks">
        <Table
          {...sortOf("kinds")}
          columns={KIND_COLUMNS}
          rows={answer.kinds}
          keyOf={kindKey}
          onOpen={openItem}
        />
      </Section>
      <Section
        id="tasks"
        title="Tasks"
        controls={<Find find={find} leftOut={answer.tasks_left_out} />}
      >
        <Table
          {...sortOf("tasks")}
          columns={TASK_COLUMNS}
          rows={answer.tasks}
          keyOf={taskKey}
          onOpen={openItem}
          isSorted
        />
      </Section>
      <Section id="threads" title="Threads">
        <Table
          {...sortOf("threads")}
          columns={THREAD_COLUMNS}
          rows={answer.threads}
          keyOf={threadKey}
          onOpen={openItem}
          none="This system does not list threads."
        />
        <p class="hint">{busyText(answer.threads)}</p>
      </Section>
      <Section id="runtimes" title="Runtimes">
        <Table
          {...sortOf("runtimes")}
          columns={RUNTIME_COLUMNS}
          rows={answer.runtimes}
          keyOf={({ name }) => name}
        />
      </Section>
    </div>
  );
}

interface SectionProps {
  id: string;
  title: string;
  controls?: ComponentChildren;
  children: ComponentChildren;
}

/** A table that scrolls if it is long or wide. */
function Section({ id, title, controls, children }: SectionProps) {
  return (
    <div class="panel">
      <div class="controls">
        <h2 id={`${id}-title`}>{title}</h2>
        {controls}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls needs the keyboard */}
      <section class="wide" tabIndex={0} aria-labelledby={`${id}-title`}>
        {children}
      </section>
    </div>
  );
}

function Find({ find, leftOut }: { find: string; leftOut: number }) {
  return (
    <>
      <label>
        Find{" "}
        <input
          id="find"
          type="search"
          value={find}
          placeholder="a part of a kind, a name, a state or a place"
          autocomplete="off"
          onInput={(event) => findTasks(event.currentTarget.value)}
        />
      </label>
      {leftOut > 0 && (
        <span class="muted">{plural(leftOut, "more is", "more are")} not listed</span>
      )}
    </>
  );
}
