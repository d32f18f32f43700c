/** A profile: its stacks, and what they add up to. */

import { bytes } from "../../format/bytes";
import { duration } from "../../format/duration";
import { type Column, numberColumn, textColumn } from "../sorting";

/** A stack with its place in the program, and how often it was met. */
export interface Stack {
  stage: string;
  thread: string;
  /** The outermost first. */
  functions: string[];
  samples: number;
}

export interface Profile {
  /** By which the program keeps it. */
  id: string;
  stacks: readonly Stack[];
  /** The samples of all stacks. */
  samples: number;
  /** What all samples are: nanoseconds or bytes. */
  total: number;
  unit: string;
  /** The samples that were lost. */
  lost: number;
  /** What it is a profile of, as a noun. */
  noun: string;
}

/** Reads lines of the form `STAGE;THREAD;FUNCTION;FUNCTION SAMPLES`. */
export function parseStacks(folded: string): Stack[] {
  return folded.split("\n").flatMap((line) => {
    const space = line.lastIndexOf(" ");
    if (space < 0) return [];
    const [stage = "", thread = "", ...functions] = line.slice(0, space).split(";");
    return [{ stage, thread, functions, samples: Number(line.slice(space + 1)) }];
  });
}

/** The parts of a program that a person has chosen; empty for all of them. */
export interface Choice {
  stage: string;
  thread: string;
}

/** The stacks of the chosen stage and thread. */
export function chosenStacks(stacks: readonly Stack[], { stage, thread }: Choice): Stack[] {
  const isChosen = (choice: string, value: string) => choice === "" || choice === value;
  return stacks.filter((one) => isChosen(stage, one.stage) && isChosen(thread, one.thread));
}

/** The stages or the threads of a profile with their shares, the largest first. */
export function partsOf(
  { stacks, samples }: Profile,
  key: keyof Choice,
): { name: string; text: string }[] {
  const sums = new Map<string, number>();
  for (const stack of stacks) sums.set(stack[key], (sums.get(stack[key]) ?? 0) + stack.samples);
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([name, sum]) => ({ name, text: `${name} (${Math.round((100 * sum) / samples)}%)` }));
}

/** A function with the samples in which it runs itself, and those of all stacks with it. */
export interface FunctionSamples {
  name: string;
  own: number;
  total: number;
}

export function functionSamples(stacks: readonly Stack[]): FunctionSamples[] {
  const functions = new Map<string, FunctionSamples>();
  for (const { functions: names, samples } of stacks) {
    for (const name of new Set(names)) {
      const sums = functions.get(name) ?? { name, own: 0, total: 0 };
      sums.total += samples;
      functions.set(name, sums);
    }
    const innermost = functions.get(names.at(-1) ?? "");
    if (innermost && names.length > 0) innermost.own += samples;
  }
  return [...functions.values()];
}

/** The columns of the functions of `all` samples. */
export function functionColumns(all: number): readonly Column<FunctionSamples>[] {
  const share = (samples: number) => shareText(samples, all);
  return [
    numberColumn("own", "Own", ({ own }) => own, share),
    numberColumn("total", "Total", ({ total }) => total, share),
    textColumn("name", "Function", ({ name }) => name, { className: () => "function" }),
  ];
}

/** A share of the samples with the digits that tell functions apart. */
export function shareText(samples: number, all: number): string {
  const percent = all === 0 ? 0 : (100 * samples) / all;
  return `${percent.toFixed(percent < 10 ? 2 : 1)}%`;
}

/** The time or the bytes that a number of samples stands for. */
export function amountText({ samples, total, unit }: Profile, part: number): string {
  const value = samples === 0 ? 0 : (total * part) / samples;
  return unit === "bytes" ? bytes(value) : duration(value / 1e9);
}

/** Whether a function is searched for. */
export function isFound(name: string, wanted: string): boolean {
  const text = wanted.trim().toLowerCase();
  return text !== "" && name.toLowerCase().includes(text);
}

/** The profile in a sentence. */
export function summaryText(profile: Profile): string {
  const { samples, unit, noun, lost } = profile;
  if (samples === 0) {
    return "The profile has no samples. Give the program some work, and take another profile.";
  }
  const counted = unit === "bytes" ? "" : `${samples} samples, `;
  const missing = lost === 0 ? "" : `; ${lost} more samples were lost because the table was full`;
  return `${counted}${amountText(profile, samples)} of ${noun}${missing}`;
}
