import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Report } from "../generated/Report";
import { showHelp } from "../help/control";
import { save } from "../state/store";
import { theme, toggleTheme } from "../views/theme";
import { probeLines, stopReading } from "./control";
import { Group, Item, Menu } from "./Menu";
import { SaveItems } from "./SaveItems";
import { ShareItems } from "./ShareItems";

interface Props {
  id: string;
  close: () => void;
  report: Report;
}

/** Gives what is on the screen to others. */
export function ShareMenu({ report, ...menu }: Props) {
  return (
    <ProbedMenu {...menu} label="Share">
      <ShareItems report={report} />
    </ProbedMenu>
  );
}

/** Saves the data on the screen. */
export function SaveMenu({ report, ...menu }: Props) {
  return (
    <ProbedMenu {...menu} label="Save">
      <SaveItems report={report} />
    </ProbedMenu>
  );
}

/** On a narrow window, one menu for all buttons of the bar. */
export function MoreMenu({ report, ...menu }: Props) {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <ProbedMenu {...menu} label="More">
      <Item
        id="more-help"
        label="Conditions and keys"
        hint="what can be written into the filter"
        choose={showHelp}
      />
      <Item
        id="more-theme"
        label={`Use the ${other} theme`}
        hint="kept by this browser"
        choose={toggleTheme}
      />
      <Group label="Share">
        <ShareItems report={report} />
      </Group>
      <Group label="Save">
        <SaveItems report={report} />
      </Group>
    </ProbedMenu>
  );
}

interface ProbedProps extends Omit<Props, "report"> {
  label: string;
  children: ComponentChildren;
}

/** A menu that finds out what can be read of the lines when it opens. */
function ProbedMenu(props: ProbedProps) {
  useEffect(() => void probeLines(), []);
  const { problem, sources } = save.value.probe;
  return <Menu {...props} isProbed={problem !== null || sources !== null} />;
}

/** Stops the reading of lines. */
export function StopButton() {
  return (
    <button type="button" class="link" data-testid="save-stop" onClick={stopReading}>
      Stop
    </button>
  );
}
