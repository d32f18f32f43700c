import { computed } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { undo } from "../control/questions";
import { isUploading } from "../control/uploads";
import { FormatBox } from "../format-box/FormatBox";
import { rowsOf } from "../state/rows";
import { hasLines } from "../state/state";
import { state, view } from "../state/store";
import { withoutLines } from "../state/withoutLines";
import { StoryDialog } from "../story/StoryDialog";
import { Banner } from "./Banner";
import { Dashboard } from "./Dashboard";
import { DropAnywhere } from "./DropAnywhere";
import { DropPage } from "./DropPage";
import { Duplicates } from "./Duplicates";
import { focusFilterBox } from "./FilterBox";
import { Freeable } from "./Freeable";
import { Header } from "./Header";
import { Progress } from "./Progress";

/** The page. */
export function App() {
  // Before the first paint: a person may press a key as soon as the page is seen.
  useLayoutEffect(listen, []);
  return (
    <>
      <Header />
      <Banner />
      <Freeable />
      <main>
        <Progress />
        <FormatBox />
        <Content />
      </main>
      <DropAnywhere />
      <Duplicates />
      <StoryDialog />
    </>
  );
}

type Screen = "drop page" | "dashboard" | "waiting" | "nothing";

const screen = computed<Screen>(() => {
  const now = state.value;
  if (now.session === null) return "drop page";
  // An empty dashboard would only delay that of the first lines.
  if (now.view && (hasLines(now.view) || (now.view.complete && now.view.sources.length > 0)))
    return "dashboard";
  if (now.view && rowsOf(now).length === 0) return "drop page";
  return now.connection === "gone" ? "nothing" : "waiting";
});

function Content() {
  switch (screen.value) {
    case "drop page":
      return <DropPage />;
    case "dashboard":
      return view.value && <Dashboard view={view.value} />;
    case "waiting":
      return (
        <h1 class="waiting">Waiting for the first {withoutLines.value ? "requests" : "lines"}…</h1>
      );
    case "nothing":
      return null;
  }
}

function listen(): () => void {
  const stop = new AbortController();
  addEventListener("keydown", onKeyDown, { signal: stop.signal });
  addEventListener("beforeunload", onLeave, { signal: stop.signal });
  return () => stop.abort();
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") undo();
  // In Firefox the key would open the search bar.
  if (event.key === "/" && !isTyping(event.target) && focusFilterBox()) event.preventDefault();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLSelectElement ||
    target instanceof HTMLTextAreaElement
  );
}

/** Warns before unfinished uploads are lost. */
function onLeave(event: BeforeUnloadEvent): void {
  if (isUploading()) event.preventDefault();
}
