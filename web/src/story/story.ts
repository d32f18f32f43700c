/** The story of a client or a user: whose is told, and what is known of it. */

import { effect } from "@preact/signals";
import { mayHaveBlocks, WINDOW_S } from "../blocks/control";
import { askBlocks, askRules, blocksAhead_s } from "../control/live";
import { filterBy } from "../control/questions";
import type { Clause } from "../generated/Clause";
import type { Report } from "../generated/Report";
import type { RuleText } from "../generated/RuleText";
import { LinePanel } from "../lines/control";
import { ruleTextOf } from "../rules/files";
import { endReplay, sendLines } from "../rules/lineReplays";
import { conditionOf } from "../state/conditionText";
import { exclude } from "../state/filter";
import { inNextFrame } from "../state/frame";
import { OWN, type RulesReply } from "../state/rules";
import type { Question } from "../state/state";
import { blocks, dispatch, rules, state, story, view } from "../state/store";
import { STORY_BLOCKS_PANEL, STORY_PANEL, type Subject } from "../state/story";
import { tellsOf } from "./tells";

/** The number of the first of its panels of lines. */
const LINE_PANEL = 2;

/** The steps of its timeline. */
const BUCKETS = 200;

/** The time between two reports while the data grows. */
const REFRESH_MS = 2_000;

/** The lines of the story. */
export const storyLines = new LinePanel(
  LINE_PANEL,
  "story",
  () => {
    const { of } = story.value;
    return of === null ? null : questionOf(of);
  },
  // As it happened.
  () => "oldest",
);

/** Closes the story, and filters the page by its subject. */
export function filterBySubject(of: Subject): void {
  dispatch({ type: "story", of: null });
  filterBy([clauseOf(of)], []);
}

/** Closes the story, and leaves its subject out. */
export function excludeSubject(of: Subject): void {
  dispatch({ type: "story", of: null });
  filterBy(exclude(state.peek().question.clauses, of.field, of));
}

function clauseOf({ field, value }: Subject): Clause {
  return { field, op: "=", values: [value] };
}

/** Asks for everything whenever another story is chosen, and again while the data grows. */
export function followStories(): void {
  storyLines.follow();
  let last = "";
  let size = -1;
  let isWaiting = false;
  effect(() => {
    const { session, connection, question } = state.value;
    const rule = ruleOfPanel();
    const of = connection === "open" && session !== null ? story.value.of : null;
    const { zone, kind } = question;
    const context = [rule, zone, kind, ...blocksContext()];
    const key = of === null ? "" : JSON.stringify([session, of, ...context]);
    const records = view.value?.report.records ?? 0;
    if (key !== last) {
      last = key;
      size = records;
      tell(session, of, rule);
    } else if (of !== null && session !== null && records !== size) {
      size = records;
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => {
        isWaiting = false;
        if (last === key) void report(session, of);
      }, REFRESH_MS);
    }
  });
}

/** The rule of the panel; `null` if there is none. */
function ruleOfPanel(): RuleText | null {
  const { text, files } = rules.value.panels[OWN];
  return text === null ? null : ruleTextOf(text, files);
}

/** What a question about blocks depends on. */
function blocksContext(): unknown[] {
  const kinds = view.value?.report.kinds ?? [];
  return [mayHaveBlocks(kinds), blocks.value.report?.clock.offset_s ?? 0];
}

function tell(session: string | null, of: Subject | null, rule: RuleText | null): void {
  const asked = story.peek().asked + 1;
  endReplay(STORY_PANEL);
  dispatch({ type: "story_asked", asked });
  if (of === null || session === null) {
    if (asked > 1) {
      askRules(STORY_PANEL, asked, state.peek().question, null);
      askBlocks(STORY_BLOCKS_PANEL, asked, state.peek().question, null);
    }
    return;
  }
  void report(session, of);
  if (rule !== null) askRules(STORY_PANEL, asked, questionOf(of), rule);
  if (of.field !== "client" || !mayHaveBlocks(view.peek()?.report.kinds ?? [])) return;
  const question = { window_s: WINDOW_S, clock_offset_s: blocksAhead_s() };
  askBlocks(STORY_BLOCKS_PANEL, asked, { ...questionOf(of), hasOverlay: false }, question);
}

/**
 * Takes a reply about the rules of the panel. If they look at lines that this page has to send
 * again, the answer of the panel does, if it is about all lines and has everything of the subject.
 */
export function takeStoryRules(session: string, reply: RulesReply): void {
  const { asked, of } = story.peek();
  const { lines } = reply;
  if (reply.query !== asked || of === null || lines === undefined) {
    if (reply.query === asked) endReplay(STORY_PANEL);
    dispatch({ type: "story_rules", reply });
    return;
  }
  const { answer, isFiltered } = rules.peek().panels[OWN];
  if (answer !== null && !isFiltered && answer.rules.every((rule) => tellsOf(rule, of.value))) {
    askRules(STORY_PANEL, asked, state.peek().question, null);
    const { panel, query } = reply;
    dispatch({ type: "story_rules", reply: { type: "rules", panel, query, answer } });
    return;
  }
  dispatch({ type: "story_rules", reply });
  const isOn = () => story.peek().asked === asked && story.peek().lines !== null;
  void sendLines(session, STORY_PANEL, lines, {
    progressed: (progress) =>
      inNextFrame("story replay", () => {
        if (!isOn()) return;
        dispatch({ type: "story_facts", facts: { lines: { isWaiting: false, ...progress } } });
      }),
    failed: (why) => {
      const refusal = `The rule looks at whole lines, and ${why}`;
      if (isOn()) dispatch({ type: "story_facts", facts: { lines: null, refusal } });
    },
  });
}

async function report(session: string, of: Subject): Promise<void> {
  const { zone, kind } = state.peek().question;
  const parameters = new URLSearchParams({
    where: conditionOf(clauseOf(of)),
    buckets: String(BUCKETS),
    top: "10",
  });
  if (zone !== null) parameters.set("zone", zone);
  if (kind !== null) parameters.set("kind", kind);
  try {
    const response = await fetch(`/api/sessions/${session}/report?${parameters}`);
    const body: unknown = await response.json();
    if (story.peek().of !== of) return;
    if (response.ok) dispatch({ type: "story_facts", facts: { report: body as Report } });
    else refuse((body as { message: string }).message);
  } catch {
    if (story.peek().of === of) refuse("Weir does not answer.");
  }
}

function refuse(refusal: string): void {
  dispatch({ type: "story_facts", facts: { refusal } });
}

function questionOf(of: Subject): Question {
  return { ...state.value.question, clauses: [clauseOf(of)], conditions: [] };
}
