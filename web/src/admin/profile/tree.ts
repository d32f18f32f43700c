/** The call tree of stacks, and its boxes in a flame graph. */

import type { Stack } from "./stacks";

/** A function in the context of its callers. */
export interface CallNode {
  id: number;
  name: string;
  parent: CallNode | null;
  /** The largest first. */
  children: CallNode[];
  depth: number;
  /** The samples of its stacks. */
  total: number;
  /** The samples in which it runs itself. */
  own: number;
}

/** Builds the tree of all threads, or of the functions of one thread. */
export function treeOf(stacks: readonly Stack[], thread: string): CallNode {
  let nodes = 0;
  const node = (name: string, parent: CallNode | null): CallNode => {
    nodes += 1;
    const depth = parent === null ? 0 : parent.depth + 1;
    return { id: nodes, name, parent, children: [], depth, total: 0, own: 0 };
  };
  const root = node(thread === "" ? "all threads" : thread, null);
  const byName = new Map<CallNode, Map<string, CallNode>>();
  for (const stack of stacks) {
    let at = root;
    at.total += stack.samples;
    for (const name of thread === "" ? [stack.thread, ...stack.functions] : stack.functions) {
      const known = byName.get(at) ?? new Map<string, CallNode>();
      byName.set(at, known);
      const child = known.get(name) ?? node(name, at);
      if (!known.has(name)) at.children.push(child);
      known.set(name, child);
      child.total += stack.samples;
      at = child;
    }
    at.own += stack.samples;
  }
  for (const parent of byName.keys()) parent.children.sort((a, b) => b.total - a.total);
  return root;
}

/** A box of the flame graph, in pixels. */
export interface Frame {
  node: CallNode;
  left: number;
  width: number;
  /** Whether it is a caller of the function on which the graph is zoomed in. */
  isAbove: boolean;
}

/** Narrower boxes are left out. */
const NARROWEST_PX = 2;

/** The boxes of a tree from a function on. Its callers take the whole width above it. */
export function framesOf(focus: CallNode, width: number): Frame[] {
  const frames: Frame[] = callersOf(focus).map((node) => ({ node, left: 0, width, isAbove: true }));
  const open: Frame[] = [{ node: focus, left: 0, width, isAbove: false }];
  for (let frame = open.pop(); frame; frame = open.pop()) {
    frames.push(frame);
    let left = frame.left;
    for (const node of frame.node.children) {
      const childWidth = (frame.width * node.total) / Math.max(frame.node.total, 1);
      if (childWidth >= NARROWEST_PX) open.push({ node, left, width: childWidth, isAbove: false });
      left += childWidth;
    }
  }
  return frames;
}

function callersOf({ parent }: CallNode): CallNode[] {
  return parent === null ? [] : [...callersOf(parent), parent];
}

/** What a key does: zooms in on a function, or moves to one, which may be the same. */
export interface KeyMeaning {
  type: "zoom" | "move";
  node: CallNode;
}

/** The meaning of a key at a function; `null` if it has none. */
export function keyMeaning(key: string, node: CallNode, root: CallNode): KeyMeaning | null {
  const siblings = node.parent?.children ?? [];
  const at = siblings.indexOf(node);
  const moveTo = (to: CallNode | null | undefined): KeyMeaning => ({
    type: "move",
    node: to ?? node,
  });
  switch (key) {
    case "Enter":
      return { type: "zoom", node };
    case "Escape":
      return { type: "zoom", node: root };
    case "ArrowUp":
      return moveTo(node.parent);
    case "ArrowDown":
      return moveTo(node.children[0]);
    case "ArrowLeft":
      return moveTo(siblings[at - 1]);
    case "ArrowRight":
      return moveTo(siblings[at + 1]);
    default:
      return null;
  }
}

/** The hue of a function's crate or library: the name before the first `::`. */
export function hueOf(name: string): number {
  const crate = /^[<&*\s(]*([A-Za-z_0-9.]+)/.exec(name)?.[1] ?? name;
  let hash = 0;
  for (const character of crate) hash = (hash * 31 + character.codePointAt(0)!) % 4294967296;
  return hash % 360;
}
