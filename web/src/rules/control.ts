/** The actions of a person in the rules panel. */

import { effect } from "@preact/signals";
import { noteRules, rulesOfAddress } from "../control/history";
import { askRules } from "../control/live";
import type { RuleDetails } from "../generated/RuleDetails";
import type { RuleFile } from "../generated/RuleFile";
import { inNextFrame } from "../state/frame";
import {
  type Lab,
  NO_RULE,
  OTHER,
  OWN,
  type RulePanel,
  type RulesReply,
  type Slot,
} from "../state/rules";
import { dispatch, rules, state } from "../state/store";
import { filesTogether, ruleOfFiles, ruleTextOf } from "./files";
import { withBurst, withRate } from "./limit";
import { endReplay, reasonOfEnd, sendLines } from "./lineReplays";
import { networksOf } from "./networks";

/** The longest text of rules, in bytes, which is the limit of the server. */
export const RULE_BYTES_MAX = 512 << 10;

/** Where the browser keeps the networks of good clients. */
const NETWORKS_KEY = "weir-good-networks";

/** A rule in force, as far as a log states it. */
export interface RuleInForce {
  text: string;
  /** A line that defines it. */
  definition: RegExp;
}

/** Asks what the rules of a text would have done; an empty text clears them. */
export function tryRule(text: string, slot: Slot = OWN): void {
  if (text.trim() === "") {
    clear(slot);
  } else if (new TextEncoder().encode(text).length > RULE_BYTES_MAX) {
    const refusal = `The text is too long: a panel takes ${RULE_BYTES_MAX >> 10} KiB.`;
    set(slot, { ...NO_RULE, asked: panelOf(slot).asked, text, refusal });
    noteTexts();
    return;
  } else {
    set(slot, { text });
    ask(slot);
  }
  noteTexts();
  // The other rule is compared with this one.
  if (slot === OWN) ask(OTHER);
}

/** Takes dropped files: the rule is tried with the others beside it. */
export function tryRuleFiles(dropped: readonly RuleFile[], slot: Slot = OWN): void {
  const before = panelOf(slot);
  const { text, files } = ruleOfFiles(dropped, before.text);
  set(slot, { files: filesTogether(before.files, files) });
  tryRule(text, slot);
}

/** Takes a file away from a rule, and tries the rule without it. */
export function removeRuleFile(name: string, slot: Slot): void {
  const { text, files } = panelOf(slot);
  set(slot, { files: files.filter((file) => file.name !== name) });
  tryRule(text ?? "", slot);
}

/** Replays all requests, or only those that the filter selects. */
export function filterRules(isFiltered: boolean): void {
  set(OWN, { isFiltered });
  askAll();
}

/** Starts or stops trying other rates and bursts. */
export function showGrid(hasGrid: boolean): void {
  setLab({ hasGrid });
  ask(OWN);
}

/** Writes a rate and a burst into the rule, and replays it. */
export function applySetting(rate: string, burst: number): void {
  const { text } = panelOf(OWN);
  if (text !== null) tryRule(withBurst(withRate(text, rate), burst));
}

/** Shows another rule beside that of the panel, with this text and the files of that rule. */
export function compareWith(text: string): void {
  setLab({ hasOther: true });
  if (text === "") return;
  set(OTHER, { files: panelOf(OWN).files });
  tryRule(text, OTHER);
}

/** Tries a rule of which little is known, unless a text defines it: that one is shown instead. */
export function tryInForce({ text, definition }: RuleInForce): void {
  const [own, other] = rules.peek().panels;
  const defines = (panel: RulePanel) =>
    [panel.text ?? "", ...panel.files.map((file) => file.text)].some((one) => definition.test(one));
  if (defines(own) || (rules.peek().lab.hasOther && defines(other))) return;
  if (own.text === null) tryRule(text);
  else compareWith(text);
}

/** Ends the comparison. */
export function endComparison(): void {
  setLab({ hasOther: false });
  clear(OTHER);
  noteTexts();
}

/** Shows a reply to a panel, and sends the lines that it asks for. */
export function takeRulesReply(session: string, reply: RulesReply): void {
  const slot = reply.panel === OTHER ? OTHER : OWN;
  const { asked } = panelOf(slot);
  dispatch({ type: "rule_reply", reply });
  if (reply.query !== asked) return;
  if (reply.lines) {
    void sendLines(session, slot, reply.lines, {
      progressed: (progress) =>
        inNextFrame(`replay ${slot}`, () => {
          const isOn = panelOf(slot).asked === asked && panelOf(slot).lines !== null;
          if (isOn) set(slot, { lines: { isWaiting: false, ...progress } });
        }),
      // The other rules of the text need no lines.
      failed: (why) => ask(slot, why),
    });
  } else if (reply.error) {
    void reasonOfEnd(slot).then((refusal) => {
      if (refusal !== null && panelOf(slot).asked === asked) set(slot, { refusal });
    });
  } else {
    endReplay(slot);
  }
}

/** Ends the replay of a rule whose lines are read again. */
export function cancelReplay(slot: Slot): void {
  endReplay(slot);
  abandon(
    slot,
    "The replay was cancelled. Try the rule again to read the lines from the beginning.",
  );
}

/** Ends the question of a panel without an answer. */
function abandon(slot: Slot, refusal: string): void {
  const { asked } = panelOf(slot);
  set(slot, { isAnswered: true, answer: null, refusal, place: null, lines: null });
  askRules(slot, asked, state.peek().question, null);
}

/** Keeps both texts in the address. */
function noteTexts(): void {
  const [rule, other] = rules.peek().panels.map(({ text }) => text ?? "");
  noteRules({ rule: rule!, other: other! });
}

/** Names the networks whose clients are good. */
export function nameNetworks(networks: string): void {
  setLab({ networks });
  try {
    localStorage.setItem(NETWORKS_KEY, networks);
  } catch {
    // Without storage they last as long as the page.
  }
  askAll();
}

/** Asks about the rules of the panel, or those of the address, on the first connection of a session. */
export function askOnSession(): void {
  try {
    setLab({ networks: localStorage.getItem(NETWORKS_KEY) ?? "" });
  } catch {
    // A browser may refuse storage.
  }
  const address = rulesOfAddress();
  const [text, other] = [panelOf(OWN).text ?? address.rule, panelOf(OTHER).text ?? address.other];
  for (const slot of [OWN, OTHER] as const) set(slot, { answer: null });
  if (other !== "") {
    // Before the address is written again.
    setLab({ hasOther: true });
    set(OTHER, { text: other });
  }
  if (text !== "") tryRule(text);
  else if (other !== "") tryRule(other, OTHER);
}

/** Asks again whenever the filter changes, if the panel follows it. */
export function followFilter(): void {
  let last = "";
  effect(() => {
    const { clauses, conditions } = state.value.question;
    const filter = JSON.stringify([clauses, conditions]);
    if (filter === last) return;
    last = filter;
    if (panelOf(OWN).isFiltered) askAll();
  });
}

function askAll(): void {
  ask(OWN);
  ask(OTHER);
}

/** Asks about the rule of a panel. `lines_gone` is why the page cannot send its lines. */
function ask(slot: Slot, lines_gone?: string): void {
  const { text, files, asked } = panelOf(slot);
  if (text === null) return;
  const { isFiltered } = panelOf(OWN);
  const { question } = state.peek();
  const { clauses, conditions, zone } = question;
  const filter = isFiltered ? { clauses, conditions } : { clauses: [], conditions: [] };
  endReplay(slot);
  set(slot, { asked: asked + 1, isAnswered: false, refusal: null, place: null, lines: null });
  const rule = ruleTextOf(text, files);
  const details = { ...detailsOf(slot), ...(lines_gone !== undefined && { lines_gone }) };
  askRules(slot, asked + 1, { ...question, ...filter, zone }, rule, details);
}

function detailsOf(slot: Slot): RuleDetails {
  const { hasGrid, networks } = rules.peek().lab;
  const good_networks = networksOf(networks).valid;
  const own = panelOf(OWN);
  if (slot === OWN) return { grid: hasGrid, good_networks };
  if (own.text === null) return { good_networks };
  return { good_networks, against: ruleTextOf(own.text, own.files) };
}

function clear(slot: Slot): void {
  const { asked, isFiltered } = panelOf(slot);
  endReplay(slot);
  set(slot, { ...NO_RULE, asked: asked + 1, isFiltered });
  askRules(slot, asked + 1, state.peek().question, null);
}

function panelOf(slot: Slot): RulePanel {
  return rules.peek().panels[slot];
}

function set(slot: Slot, part: Partial<RulePanel>): void {
  dispatch({ type: "rule", slot, part });
}

function setLab(part: Partial<Lab>): void {
  dispatch({ type: "lab", part });
}
