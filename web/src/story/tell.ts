/** Which story is told, also by the address. */

import { leaveStory, pushStory, storyOfAddress } from "../control/history";
import { dispatch } from "../state/store";
import type { Subject } from "../state/story";

/** Shows a story, as one step that Back undoes. */
export function tellStory(of: Subject): void {
  pushStory(of);
  show(of);
}

/** Closes the story. */
export function closeStory(): void {
  leaveStory();
  show(null);
}

/** Shows the story that the address names. */
export function followStory(): void {
  show(storyOfAddress());
}

function show(of: Subject | null): void {
  dispatch({ type: "story", of });
}
