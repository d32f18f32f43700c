import type { ComponentType } from "preact";
import { Brand } from "../views/Brand";
import { neighbour } from "../views/neighbour";
import { ThemeToggle } from "../views/ThemeToggle";
import { CallsPage } from "./calls/CallsPage";
import { CapturePage } from "./capture/CapturePage";
import { LogPage } from "./log/LogPage";
import { type AdminPage, goTo, PAGES } from "./pages";
import { ProfilePage } from "./profile/ProfilePage";
import { RoutePage } from "./route/RoutePage";
import { place } from "./store";
import { TasksPage } from "./tasks/TasksPage";

const COMPONENTS: Record<string, ComponentType> = {
  "/": RoutePage,
  "/tasks": TasksPage,
  "/profile": ProfilePage,
  "/calls": CallsPage,
  "/glass": CapturePage,
  "/log": LogPage,
};

/** The pages of the admin address. */
export function App() {
  const Page = COMPONENTS[place.value.path] ?? RoutePage;
  return (
    <>
      <Header />
      <Page />
    </>
  );
}

function Header() {
  const traffic = neighbour("weir-page");
  return (
    <header class="header admin-header">
      <Brand href="/" label="Inside Weir" name="Inside Weir" />
      <nav id="pages" aria-label="Pages">
        {PAGES.map((page) => (
          <PageLink key={page.path} page={page} />
        ))}
      </nav>
      <span class="grow" />
      {traffic !== null && (
        <a class="header-link" data-testid="traffic-link" href={traffic}>
          Traffic
        </a>
      )}
      <ThemeToggle />
    </header>
  );
}

function PageLink({ page: { path, name } }: { page: AdminPage }) {
  const follow = (event: MouseEvent) => {
    // A new tab or window is the browser's work.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    goTo(path);
  };
  return (
    <a href={path} aria-current={place.value.path === path ? "page" : undefined} onClick={follow}>
      {name}
    </a>
  );
}
