/** Everything that changes the state. */

import type { BlocksAction } from "./blocks";
import type { DraftAction } from "./draft";
import type { FamiliesAction } from "./families";
import type { HelpAction } from "./help";
import type { LinesAction } from "./lines";
import type { RulesAction } from "./rules";
import type { SaveAction } from "./save";
import type { SeriesAction } from "./series";
import type { SessionAction } from "./session";
import type { StoryAction } from "./story";
import type { TabAction } from "./tab";

export type Action =
  | SessionAction
  | DraftAction
  | RulesAction
  | BlocksAction
  | LinesAction
  | StoryAction
  | HelpAction
  | SaveAction
  | TabAction
  | FamiliesAction
  | SeriesAction;
