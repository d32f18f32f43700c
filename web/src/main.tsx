import { render } from "preact";
import { followBlocks, followClock } from "./blocks/control";
import { followAddress } from "./control/session";
import { followTab, keepTab } from "./control/tabs";
import { noteVersion } from "./control/version";
import { followLists } from "./families/control";
import { followMeasure } from "./measure/control";
import { afterFrame } from "./state/frame";
import { headValue } from "./state/head";
import { dispatch } from "./state/store";
import { followWall } from "./state/wall";
import { followStory } from "./story/tell";
import { App } from "./views/App";
import { keepFocus } from "./views/focus";
import { partFailed } from "./views/part";
import { followTheme } from "./views/theme";
import { followTitle } from "./views/title";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/page.css";
import "./styles/drop.css";
import "./styles/filters.css";
import "./styles/menus.css";
import "./styles/help.css";
import "./styles/progress.css";
import "./styles/format-box.css";
import "./styles/totals.css";
import "./styles/chart.css";
import "./styles/lists.css";
import "./styles/whole.css";
import "./styles/rules.css";
import "./styles/lab.css";
import "./styles/lines.css";
import "./styles/story.css";
import "./styles/blocks.css";
import "./styles/bench.css";
import "./styles/wall.css";
import "./styles/touch.css";
import "./styles/media.css";

/** The path of the measuring page of `weir bench upload`. */
const BENCH_PATH = "/bench/upload";

const root = document.getElementById("app")!;
followTheme();
if (location.pathname === BENCH_PATH) {
  void import("./bench/index").then(({ show }) => show(root));
} else {
  dispatch({ type: "served", name: headValue("weir-served") });
  followTitle();
  followWall();
  followLists();
  followMeasure();
  followBlocks();
  followClock();
  keepFocus(root);
  void noteVersion();
  addEventListener("popstate", followAddress);
  addEventListener("popstate", followStory);
  addEventListener("popstate", keepTab);
  followTab();
  followAddress();
  followStory();
  render(<App />, root);
  afterFrame(followLater);
}

/** Loads what the first picture does not need. Without it the numbers are still right. */
function followLater(): void {
  import("./later").then(({ follow }) => follow()).catch(partFailed);
}
