/** The questions about tasks and threads. */

import type { Tasks } from "../../generated/Tasks";
import type { ThreadStacks } from "../../generated/ThreadStacks";
import { askNow, failureText } from "../ask";
import type { Sort } from "../sorting";
import { tasks, update } from "../store";
import { type TableName, withRates } from "./tables";

/** The number of the last question: an answer to an earlier one is ignored. */
let asked = 0;

/** Asks for the tasks in the order and with the text that the person has chosen. */
export async function lookAtTasks(): Promise<void> {
  asked += 1;
  const turn = asked;
  const { sorts, find } = tasks.peek();
  const { key: sort, isAscending } = sorts.tasks;
  const order = isAscending ? "ascending" : "descending";
  try {
    const answer = await askNow<Tasks>(`/tasks.json?${new URLSearchParams({ sort, order, find })}`);
    if (turn < asked) return;
    const { histories, open } = tasks.peek();
    const now_ms = performance.now();
    update("tasks", {
      answer,
      histories: withRates(histories, answer, open, now_ms),
      failure: null,
    });
  } catch (error) {
    if (turn < asked) return;
    update("tasks", { failure: error instanceof Error ? error.message : String(error) });
  }
}

/** Finds tasks by a text. */
export function findTasks(find: string): void {
  update("tasks", { find });
  void lookAtTasks();
}

/** Sorts a table. The server sorts the tasks, because it may have more than it sends. */
export function sortTable(name: TableName, sort: Sort): void {
  update("tasks", { sorts: { ...tasks.peek().sorts, [name]: sort } });
  if (name === "tasks") void lookAtTasks();
}

/** Shows the details of a row; `null` closes them. */
export function openItem(open: string | null): void {
  update("tasks", { open });
}

/** The names of functions are read from the program's file, which takes a second or more. */
const STACK_TIMEOUT_MS = 60_000;

/** The stack of a thread as text, the innermost function first, as debuggers show it. */
export async function stackOf(thread: number): Promise<string> {
  try {
    const { threads } = await askNow<ThreadStacks>("/threads/stacks.json", STACK_TIMEOUT_MS);
    const found = threads.find(({ id }) => id === thread);
    if (!found) return "There is no stack: the thread has ended";
    return found.functions.toReversed().join("\n") || "Its stack is empty.";
  } catch (error) {
    return `There is no stack: ${failureText(error)}`;
  }
}
