import { render } from "preact";
import { BenchPage } from "./BenchPage";

/** Shows the page that measures uploads. */
export function show(root: HTMLElement): void {
  document.title = "Upload speed · Weir";
  render(<BenchPage />, root);
}
