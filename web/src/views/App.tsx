import { useLayoutEffect } from "preact/hooks";
import { undo } from "../control/questions";
import { isUploading } from "../control/uploads";
import { closeWhole } from "../families/whole";
import { boxSource } from "../format-box/control";
import { closeHelp, showHelp } from "../help/control";
import { Help } from "../help/HelpButton";
import { screen } from "../state/screen";
import { families, help, state, story, view } from "../state/store";
import { TABS } from "../state/tab";
import { isWall } from "../state/wall";
import { withoutLines } from "../state/withoutLines";
import { closeStory } from "../story/tell";
import { Banner } from "./Banner";
import { Dashboard } from "./Dashboard";
import { DropAnywhere } from "./DropAnywhere";
import { DropPage } from "./DropPage";
import { focusFilterBox } from "./FilterBox";
import { Header } from "./Header";
import { partOf, shownLater, usePart } from "./part";
import { choose } from "./work";

const wall = partOf(() => import("../wall/Wall"));
const storyPane = partOf(() => import("../story/StoryPane"));
const Progress = shownLater(async () => (await import("./Progress")).Progress);
const FormatBox = shownLater(async () => (await import("../format-box/FormatBox")).FormatBox);
const Duplicates = shownLater(async () => (await import("./Duplicates")).Duplicates);
const Freeable = shownLater(async () => (await import("./Freeable")).Freeable);
const wholeList = partOf(() => import("../families/WholeList"));

/** The page. */
export function App() {
  // Before the first paint: a person may press a key as soon as the page is seen.
  useLayoutEffect(listen, []);
  return (
    <>
      {!isWall.value && <Header />}
      <Banner />
      {state.value.freeable !== null && <Freeable />}
      <div class={hasPane() ? "shell with-pane" : "shell"}>
        <main class={screen.value === "dashboard" ? "wide" : undefined}>
          {screen.value !== "dashboard" && <Progress />}
          {boxSource.value && <FormatBox />}
          <Content />
        </main>
        <WholeList />
        <Story />
        <Help />
      </div>
      <DropAnywhere />
      {state.value.duplicates && <Duplicates />}
    </>
  );
}

function Story() {
  const shown = usePart(storyPane, story.value.of !== null);
  return shown && <shown.StoryPane />;
}

function WholeList() {
  const shown = usePart(wholeList, families.value.whole !== null);
  // The story of a client in it lies on it, and leads back to it.
  return shown && <shown.WholeList isCovered={story.value.of !== null} />;
}

/** Whether a pane stands at the right of the page. */
function hasPane(): boolean {
  return story.value.of !== null || help.value || families.value.whole !== null;
}

function Content() {
  switch (screen.value) {
    case "drop page":
      return <DropPage />;
    case "dashboard":
      return view.value && (isWall.value ? <OnWall /> : <Dashboard view={view.value} />);
    case "waiting":
      return (
        <h1 class="waiting">Waiting for the first {withoutLines.value ? "requests" : "lines"}…</h1>
      );
    case "nothing":
      return null;
  }
}

function OnWall() {
  const shown = usePart(wall);
  return shown && view.value && <shown.Wall view={view.value} />;
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
  if (story.peek().of !== null) closeStory();
  else if (!closeWhole()) undo();
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
