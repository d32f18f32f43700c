import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { visible } from "../../format/text";
import { useSize } from "../../views/useSize";
import { amountText, isFound, type Profile, shareText } from "./stacks";
import { type CallNode, type Frame, framesOf, hueOf, keyMeaning } from "./tree";

const ROW_PX = 19;

/** A box with less room has no name. */
const NAME_PX = 30;

interface Props {
  profile: Profile;
  /** The root of the call tree. */
  root: CallNode;
  /** A part of the names that are marked. */
  wanted: string;
}

/** The flame graph: the width of a function is its share, and what it called is below it. */
export function Flame({ profile, root, wanted }: Props) {
  const flame = useRef<HTMLDivElement>(null);
  const size = useSize(flame, true);
  const [focus, setFocus] = useState(root);
  const [current, setCurrent] = useState(root);
  const [pointed, setPointed] = useState<CallNode | null>(null);
  /** Whether a key has moved, so that the focus has to follow. */
  const [isMoved, setMoved] = useState(false);
  const frames = useMemo(() => (size ? framesOf(focus, size.width) : []), [focus, size]);
  const byId = useMemo(() => new Map(frames.map(({ node }) => [node.id, node])), [frames]);
  useEffect(() => {
    if (!isMoved) return;
    setMoved(false);
    flame.current?.querySelector<HTMLElement>(`[data-node="${current.id}"]`)?.focus();
  }, [isMoved, current]);
  const zoom = (node: CallNode) => {
    setFocus(node);
    setCurrent(node);
    setMoved(true);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const meaning = keyMeaning(event.key, current, root);
    if (meaning === null) return;
    event.preventDefault();
    if (meaning.type === "zoom") return zoom(meaning.node);
    // A box that is too narrow is not drawn.
    if (!byId.has(meaning.node.id)) return;
    setCurrent(meaning.node);
    setMoved(true);
  };
  const nodeOf = (event: Event) =>
    event.target instanceof HTMLElement ? byId.get(Number(event.target.dataset.node)) : undefined;
  const deepest = Math.max(0, ...frames.map(({ node }) => node.depth));
  const told = pointed ?? current;
  return (
    <>
      <div
        ref={flame}
        id="flame"
        class="flame"
        role="tree"
        aria-label="Flame graph"
        style={{ height: `${(deepest + 1) * ROW_PX}px` }}
        onClick={(event) => {
          const node = nodeOf(event);
          if (node) zoom(node);
        }}
        onPointerOver={(event) => setPointed(nodeOf(event) ?? null)}
        onPointerLeave={() => setPointed(null)}
        onKeyDown={onKeyDown}
      >
        {frames.map((frame) => (
          <FrameBox
            key={frame.node.id}
            frame={frame}
            label={`${frame.node.name}: ${shareText(frame.node.total, root.total)}, ${amountText(profile, frame.node.total)}`}
            isCurrent={frame.node === current}
            isFound={isFound(frame.node.name, wanted)}
          />
        ))}
      </div>
      <p id="detail" class="detail" role="status">
        {visible(told.name)}: {shareText(told.total, root.total)} ({amountText(profile, told.total)}
        ), own {shareText(told.own, root.total)}
      </p>
    </>
  );
}

interface FrameProps {
  frame: Frame;
  label: string;
  isCurrent: boolean;
  isFound: boolean;
}

function FrameBox({
  frame: { node, left, width, isAbove },
  label,
  isCurrent,
  isFound,
}: FrameProps) {
  const classes = ["frame", isAbove && "above", isFound && "found"];
  return (
    <div
      class={classes.filter(Boolean).join(" ")}
      role="treeitem"
      aria-level={node.depth + 1}
      aria-label={visible(label)}
      aria-selected={isCurrent}
      tabIndex={isCurrent ? 0 : -1}
      data-node={node.id}
      style={{
        left: `${left}px`,
        width: `${Math.max(width - 1, 1)}px`,
        top: `${node.depth * ROW_PX}px`,
        "--hue": hueOf(node.name),
      }}
    >
      {width > NAME_PX ? visible(node.name) : ""}
    </div>
  );
}
