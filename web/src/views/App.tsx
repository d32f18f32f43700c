import { useLayoutEffect } from "preact/hooks";
import { undo } from "../control/questions";
import { isUploading } from "../control/uploads";
import { FormatBox } from "../format-box/FormatBox";
import { closeHelp, showHelp } from "../help/control";
import { Help } from "../help/HelpButton";
import { screen } from "../state/screen";
import { help, story, view } from "../state/store";
import { TABS } from "../state/tab";
import { withoutLines } from "../state/withoutLines";
import { closeStory } from "../story/story";
import { Banner } from "./Banner";
import { Dashboard } from "./Dashboard";
import { DropAnywhere } from "./DropAnywhere";
import { DropPage } from "./DropPage";
import { Duplicates } from "./Duplicates";
import { focusFilterBox } from "./FilterBox";
import { Freeable } from "./Freeable";
import { Header } from "./Header";
import { Progress } from "./Progress";
import { partOf, usePart } from "./part";
import { choose } from "./work";

const storyPane = partOf(() => import("../story/StoryPane"));

/** The page. */
export function App() {
  // Before the first paint: a person may press a key as soon as the page is seen.
  useLayoutEffect(listen, []);
  return (
    <>
      <Header />
      <Banner />
      <Freeable />
      <div class={hasPane() ? "shell with-pane" : "shell"}>
        <main class={screen.value === "dashboard" ? "wide" : undefined}>
          {screen.value !== "dashboard" && <Progress />}
          <FormatBox />
          <Content />
        </main>
        <Story />
        <Help />
      </div>
      <DropAnywhere />
      <Duplicates />
    </>
  );
}

function Story() {
  const shown = usePart(storyPane, story.value.client !== null);
  return shown && <shown.StoryPane />;
}

/** Whether a pane stands at the right of the page. */
function hasPane(): boolean {
  return story.value.client !== null || help.value;
}

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
  if (event.key === "Escape") stepBack();
  if (isTyping(event.target)) return;
  // In Firefox the key would open the search bar.
  if (event.key === "/" && focusFilterBox()) event.preventDefault();
  if (screen.value !== "dashboard") return;
  if (event.key === "?") showHelp();
  const tab = TABS.find((one) => one.startsWith(event.key));
  if (tab !== undefined && !event.shiftKey) choose(tab);
}

/** What Escape does: it closes a pane, or undoes the last step. */
function stepBack(): void {
  if (closeHelp()) return;
  if (story.peek().client === null) undo();
  else closeStory();
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
