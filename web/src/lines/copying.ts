/** Copies of lines, exactly as they stand in the log. */

import type { ShownLine } from "./shown";

/** The attribute of what stands beside lines and is not copied. */
export const BESIDE = "data-beside";

/** The lines on the screen by their numbers. */
type LineOf = (number: number) => ShownLine | undefined;

/**
 * The text of a selected part of the list: without what stands beside the lines, with the characters
 * of which the page shows escapes, and with the ends of lines that the page shows in part.
 */
export function exactText(selected: Node, lineOf: LineOf): string {
  const lines = [...selected.childNodes].flatMap((node) => linesIn(node));
  if (lines.length === 0) return textIn(selected, lineOf);
  return lines.map((line) => textIn(line, lineOf)).join("\n");
}

/** The rows of lines in a part of the list. */
function linesIn(node: Node): Element[] {
  if (!(node instanceof Element)) return [];
  if (node.matches(".line")) return [node];
  return [...node.querySelectorAll(".line")];
}

function textIn(node: Node, lineOf: LineOf): string {
  if (node instanceof Text) return node.data;
  if (node instanceof HTMLElement) {
    const { raw, rest } = node.dataset;
    if (raw !== undefined) return raw;
    if (rest !== undefined) return restOf(Number(rest), node, lineOf);
    if (node.hasAttribute(BESIDE)) return "";
  }
  return [...node.childNodes].map((child) => textIn(child, lineOf)).join("");
}

/** The part of a line after what the page shows of it, whose length the element has. */
function restOf(number: number, { dataset }: HTMLElement, lineOf: LineOf): string {
  return lineOf(number)?.text?.slice(Number(dataset.from)) ?? "";
}
