import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import { canAsk } from "../state/state";
import { question, state } from "../state/store";
import { withoutLines } from "../state/withoutLines";
import {
  COMMANDS,
  type CommandName,
  commandOf,
  copyCommand,
  copyPicture,
  pictureOf,
  savePicture,
  TOO_LONG,
} from "./control";
import { copyLink, linkProblem, linkScope } from "./link";
import { FileItem, Group, Item } from "./Menu";
import { reportAddress } from "./rows";

/** Gives what is on the screen to others: as an address, a picture, a file or a command. */
export function ShareItems({ report }: { report: Report }) {
  const none = pictureOf(report) === null ? "there is no chart" : null;
  return (
    <>
      <Item
        id="share-link"
        label="Copy the link to this view"
        hint={linkScope()}
        problem={linkProblem()}
        choose={() => void copyLink()}
      />
      <FileItem
        id="share-html"
        label="This view as one HTML file"
        hint="opens anywhere, without Weir; for print and mail"
        address={addressOf(report)}
        problem={canAsk(state.value) ? TOO_LONG : "Weir does not answer"}
      />
      <Group label="The chart">
        <Item
          id="share-picture"
          label="Copy as a picture"
          hint="to paste into a message"
          problem={none ?? pictureProblem()}
          choose={() => void copyPicture(report)}
        />
        <Item
          id="save-png"
          label="Save as PNG"
          hint="pixels, with title and legend"
          problem={none}
          choose={() => void savePicture(report, "png")}
        />
        <Item
          id="save-svg"
          label="Save as SVG"
          hint="sharp at every size"
          problem={none}
          choose={() => void savePicture(report, "svg")}
        />
      </Group>
      <Group label="Copy the command that prints">
        {COMMANDS.filter((name) => name !== "grep" || !withoutLines.value).map((name) => (
          <Command key={name} name={name} report={report} />
        ))}
      </Group>
    </>
  );
}

/** Why the browser cannot copy pictures; `null` if it can. */
function pictureProblem(): string | null {
  const canCopy = typeof ClipboardItem === "function" && navigator.clipboard?.write !== undefined;
  return canCopy ? null : "the browser copies pictures over HTTPS only, or from this machine";
}

function addressOf({ kind }: Report): string | null {
  const { session } = state.value;
  if (session === null || !canAsk(state.value)) return null;
  return reportAddress(session, question.value, kind);
}

const SUBJECTS: Record<CommandName, string> = {
  report: "this report",
  grep: "its lines",
  export: "its rows",
  curl: "its rows, from this server",
};

/** A command to copy: the report, its lines, or its rows in the format that was chosen last. */
function Command({ name, report }: { name: CommandName; report: Report }) {
  const command = commandOf(name, report);
  const program = name === "curl" ? "curl" : /^weir \w+/.exec(command ?? "")?.[0];
  return (
    <Item
      id={`save-${name}`}
      label={`${program}: ${SUBJECTS[name]}`}
      hint={visible(command ?? "")}
      isCommand
      problem={command === null ? TOO_LONG : null}
      choose={() => command !== null && void copyCommand(command)}
    />
  );
}
