import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { wordsOf } from "../format/kind";
import { capitalized, visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { RowFormat } from "../state/save";
import { canAsk } from "../state/state";
import { question, save, state } from "../state/store";
import { withoutLines } from "../state/withoutLines";
import {
  COMMANDS,
  type CommandName,
  chooseFormat,
  commandOf,
  copyCommand,
  pictureOf,
  probeLines,
  saveLines,
  savePicture,
  stopReading,
} from "./control";
import { rowsAddress } from "./rows";
import { useMenu } from "./useMenu";

const MENU_ID = "save-menu";

const TOO_LONG = "the filter is too long for an address: copy the command";

/** Saves what is on the screen: its rows, its lines, its chart, or the command that prints it. */
export function SaveMenu({ report }: { report: Report }) {
  const [isOpen, setOpen] = useState(false);
  const { frame, onKeyDown } = useMenu(isOpen, setOpen);
  const open = () => {
    setOpen(!isOpen);
    if (!isOpen) void probeLines();
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the menu in it */}
      <div ref={frame} class="save" onKeyDown={onKeyDown}>
        <button
          type="button"
          class="button quiet"
          aria-haspopup="menu"
          aria-expanded={isOpen}
          aria-controls={isOpen ? MENU_ID : undefined}
          data-testid="save-open"
          onClick={open}
        >
          Save
        </button>
        {isOpen && <Menu report={report} close={() => setOpen(false)} />}
      </div>
      <Outcome />
    </>
  );
}

function Outcome() {
  const { text, isReading } = save.value.outcome;
  return (
    <div class="save-outcome">
      <span role="status" class="save-done" data-testid="save-done">
        {text}
      </span>
      {isReading && (
        <button type="button" class="link" data-testid="save-stop" onClick={stopReading}>
          Stop
        </button>
      )}
    </div>
  );
}

interface MenuProps {
  report: Report;
  close: () => void;
}

function Menu({ report, close }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => keepInside(menu.current), []);
  const { title } = wordsOf(report);
  const chart = pictureOf(report) === null ? "there is no chart" : null;
  const { outcome, probe } = save.value;
  const { problem, sources } = probe;
  const reading = outcome.isReading ? "lines are being read" : null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of its items become clicks
    <div
      ref={menu}
      id={MENU_ID}
      class="save-menu"
      role="menu"
      tabIndex={-1}
      aria-label="Save"
      data-testid="save-menu"
      data-probed={problem !== null || sources !== null}
      onClick={(event) => isChoice(event.target) && close()}
    >
      <Rows
        report={report}
        format="csv"
        label={`${title} as CSV`}
        hint="a table, also for spreadsheets"
      />
      <Rows
        report={report}
        format="jsonl"
        label={`${title} as JSON lines`}
        hint="an object a line"
      />
      <Rows
        report={report}
        format="parquet"
        label={`${title} as Parquet`}
        hint="typed columns, small; for DuckDB, pandas"
      />
      <Rows
        report={report}
        format="arrow"
        label={`${title} as Arrow`}
        hint="a stream of typed columns; for pyarrow, Polars"
      />
      {!withoutLines.value && (
        <Item
          id="save-lines"
          label="Lines of the log"
          hint="as they are in the files"
          problem={problem ?? reading}
          choose={() => void saveLines()}
        />
      )}
      <Separator />
      <Item
        id="save-png"
        label="Chart as PNG"
        hint="pixels, with title and legend"
        problem={chart}
        choose={() => void savePicture(report, "png")}
      />
      <Item
        id="save-svg"
        label="Chart as SVG"
        hint="sharp at every size"
        problem={chart}
        choose={() => void savePicture(report, "svg")}
      />
      <Separator />
      {COMMANDS.map((name) => (
        <Command key={name} name={name} report={report} />
      ))}
    </div>
  );
}

/** A command to copy: the report, its lines, or its rows in the format that was chosen last. */
function Command({ name, report }: { name: CommandName; report: Report }) {
  const command = commandOf(name, report);
  const program = name === "curl" ? "curl" : /^weir \w+/.exec(command ?? "")?.[0];
  const subject = { report: "", grep: " of the lines", export: "", curl: "" }[name];
  return (
    <Item
      id={`save-${name}`}
      label={`Copy as ${program}${subject}`}
      hint={visible(command ?? "")}
      problem={command === null ? TOO_LONG : null}
      choose={() => command !== null && void copyCommand(command)}
    />
  );
}

interface RowsProps {
  report: Report;
  format: RowFormat;
  label: string;
  hint: string;
}

/** A link, because the browser saves the rows while the server writes them. */
function Rows({ report, format, label, hint }: RowsProps) {
  const { session } = state.value;
  const id = `save-${format}`;
  const address =
    session === null ? null : rowsAddress(session, question.value, report.kind, format);
  const problem = canAsk(state.value) ? TOO_LONG : "Weir does not answer";
  if (address === null || !canAsk(state.value))
    return <Item id={id} label={label} hint={hint} problem={problem} choose={() => {}} />;
  return (
    <a
      role="menuitem"
      class="save-item"
      tabIndex={-1}
      href={address}
      download
      data-testid={id}
      onClick={() => chooseFormat(format)}
    >
      <Words label={label} hint={hint} />
    </a>
  );
}

interface ItemProps {
  id: string;
  label: string;
  hint: string;
  /** Why it cannot be chosen; `null` if it can. */
  problem: string | null;
  choose: () => void;
}

function Item({ id, label, hint, problem, choose }: ItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      class="save-item"
      tabIndex={-1}
      aria-disabled={problem !== null}
      data-testid={id}
      onClick={() => problem === null && choose()}
    >
      <Words label={label} hint={problem === null ? hint : visible(capitalized(problem))} />
    </button>
  );
}

function Words({ label, hint }: { label: string; hint: ComponentChildren }) {
  return (
    <>
      <span>{label}</span>
      <span class="save-hint">{hint}</span>
    </>
  );
}

function Separator() {
  return <hr />;
}

function isChoice(target: EventTarget | null): boolean {
  const item = target instanceof Element ? target.closest('[role="menuitem"]') : null;
  return item !== null && item.getAttribute("aria-disabled") !== "true";
}

/** The distance of the menu from the edge of the window, in pixels. */
const EDGE = 8;

/** Moves a menu to the left that would be cut at the right. */
function keepInside(menu: HTMLElement | null): void {
  if (!menu) return;
  const { right } = menu.getBoundingClientRect();
  const beyond = right - (document.documentElement.clientWidth - EDGE);
  if (beyond > 0) menu.style.marginLeft = `${-beyond}px`;
}
