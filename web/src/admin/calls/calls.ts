/** The calls of marked functions, summed up by function. */

import { duration } from "../../format/duration";
import { count, plural } from "../../format/number";
import type { CallProfile } from "../../generated/CallProfile";
import type { FunctionCalls } from "../../generated/FunctionCalls";
import { type Column, numberColumn, textColumn } from "../sorting";

/** The calls of a function from all of its callers. */
export type FunctionSums = Omit<FunctionCalls, "caller">;

export const COLUMNS: readonly Column<FunctionSums>[] = [
  textColumn("name", "Function", ({ name }) => name, { opens: true, className: () => "function" }),
  numberColumn("calls", "Calls", ({ calls }) => calls, count),
  numberColumn("own", "Own time", ({ own }) => own, duration),
  numberColumn("accumulated", "Total time", ({ accumulated }) => accumulated, duration),
  numberColumn("each", "Time per call", eachOf, duration),
];

export function eachOf({ calls, accumulated }: FunctionSums): number | undefined {
  return calls === 0 ? undefined : accumulated / calls;
}

/** Sums the calls of each function over its callers. */
export function byFunction(calls: readonly FunctionCalls[]): FunctionSums[] {
  const functions = new Map<string, FunctionSums>();
  for (const { name, calls: number, own, accumulated } of calls) {
    const sums = functions.get(name) ?? { name, calls: 0, own: 0, accumulated: 0 };
    sums.calls += number;
    sums.own += own;
    sums.accumulated += accumulated;
    functions.set(name, sums);
  }
  return [...functions.values()];
}

/** The callers of a function and the functions that it called, with a text for each. */
export function related(
  calls: readonly FunctionCalls[],
  name: string,
): { text: string; sums: FunctionCalls }[] {
  const callers = calls.filter((one) => one.name === name);
  const called = calls.filter((one) => one.caller === name);
  const callerText = ({ caller }: FunctionCalls) =>
    caller === undefined ? "called by no marked function" : `called by ${caller}`;
  return [
    ...callers.map((sums) => ({ text: callerText(sums), sums })),
    ...called.map((sums) => ({ text: `calls ${sums.name}`, sums })),
  ];
}

/** The answer in a sentence. */
export function summaryText({ seconds, calls }: CallProfile): string {
  if (calls.length === 0) {
    return "No marked function was called. Give the program some work, and count again.";
  }
  const functions = byFunction(calls);
  const number = functions.reduce((sum, one) => sum + one.calls, 0);
  const of = plural(functions.length, "function");
  return `${plural(number, "call")} of ${of} in ${seconds.toFixed(1)} s`;
}
