/**
 * What the first picture does not need: lines, rules, stories and what is saved. From here on their parts
 * of the page ask the server, and take its replies.
 */

import { effect } from "@preact/signals";
import { takeReplies } from "./control/replies";
import { filteredLines } from "./lines/control";
import { takeDetail } from "./lines/detail";
import { askOnSession, followFilter, takeRulesReply } from "./rules/control";
import { endReplays } from "./rules/lineReplays";
import { followSaving, takeSavedLines } from "./save/reading";
import { state } from "./state/store";
import { STORY_PANEL } from "./state/story";
import { followStories, storyLines, takeStoryRules } from "./story/story";

/** Follows the state from now on. Called once. */
export function follow(): void {
  takeReplies({
    ruled: (session, reply) => {
      if (reply.panel === STORY_PANEL) takeStoryRules(session, reply);
      else takeRulesReply(session, reply);
    },
    lined: (reply) => {
      filteredLines.take(reply);
      storyLines.take(reply);
      takeSavedLines(reply);
      takeDetail(reply);
    },
  });
  followSessions();
  followFilter();
  filteredLines.follow();
  followStories();
  followSaving();
}

/** Asks about the rules on the first connection of each session, and ends what the one before replays. */
function followSessions(): void {
  let last: string | null = null;
  effect(() => {
    const { session, connection } = state.value;
    if (session !== last) {
      if (session !== null && connection !== "open") return;
      last = session;
      endReplays();
      if (session !== null) askOnSession();
    }
  });
}
