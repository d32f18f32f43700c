import type { Report } from "../generated/Report";
import { HelpButton } from "../help/HelpButton";
import { save } from "../state/store";
import { Dots, Icon } from "../views/icons";
import { partOf } from "../views/part";
import { MenuButton } from "./MenuButton";

/** The menus themselves. */
const menus = partOf(() => import("./menus"));

/** The buttons at the right end of the bar, or on a narrow window one menu with all of it. */
export function BarButtons({ report }: { report: Report }) {
  const shown = menus.loaded.value;
  const load = () => menus.load();
  return (
    <>
      <MenuButton
        name="share"
        class="in-wide"
        label="Share: the link, a picture, a file, a command"
        face={<Face icon="share" words="Share" />}
        onOpen={load}
      >
        {(id, close) => shown && <shown.ShareMenu id={id} close={close} report={report} />}
      </MenuButton>
      <MenuButton
        name="save"
        class="in-wide"
        label="Save: the requests or their lines"
        face={<Face icon="save" words="Save" />}
        onOpen={load}
      >
        {(id, close) => shown && <shown.SaveMenu id={id} close={close} report={report} />}
      </MenuButton>
      <HelpButton />
      <MenuButton name="more" class="in-narrow" label="More" face={<Dots />} onOpen={load}>
        {(id, close) => shown && <shown.MoreMenu id={id} close={close} report={report} />}
      </MenuButton>
      <Outcome />
    </>
  );
}

function Face({ icon, words }: { icon: "share" | "save"; words: string }) {
  return (
    <>
      <Icon name={icon} />
      <span class="menu-words">{words}</span>
    </>
  );
}

/** What became of the last choice. */
function Outcome() {
  const { text, isReading } = save.value.outcome;
  const shown = menus.loaded.value;
  return (
    <div class="save-outcome">
      <span role="status" class="save-done" data-testid="save-done">
        {text}
      </span>
      {isReading && shown !== null && <shown.StopButton />}
    </div>
  );
}
