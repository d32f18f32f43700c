/** The pages of the admin address, and the way between them. */

import { place, update } from "./store";

export interface AdminPage {
  path: string;
  /** Its link. */
  name: string;
  /** The title of the tab. */
  title: string;
}

export const PAGES: readonly AdminPage[] = [
  { path: "/", name: "Route", title: "Inside Weir" },
  { path: "/tasks", name: "Tasks", title: "Tasks · Weir" },
  { path: "/profile", name: "Profile", title: "Profile · Weir" },
  { path: "/calls", name: "Calls", title: "Calls · Weir" },
  { path: "/glass", name: "One request", title: "One request · Weir" },
  { path: "/log", name: "Log", title: "Log · Weir" },
];

/** Shows the page of the address. Called once, and by Back and Forward. */
export function followAddress(): void {
  show(location.pathname);
}

/** Shows another page. What the tab has collected stays. */
export function goTo(path: string): void {
  if (path === place.peek().path) return;
  history.pushState(null, "", path);
  show(path);
  scrollTo(0, 0);
}

function show(path: string): void {
  document.title = PAGES.find((page) => page.path === path)?.title ?? "Weir";
  update("place", { path });
}
