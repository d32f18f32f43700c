/** The actions of the menus that share and save what is on the screen. */

import { errorLogBlocks } from "../blocks/errorLogBlocks";
import { type Drawing, drawingOf } from "../chart/overlay";
import { fileOf } from "../control/uploads";
import { plural, share } from "../format/number";
import { visible } from "../format/text";
import type { Report } from "../generated/Report";
import type { Source } from "../generated/Source";
import { exportCommand, grepCommand, reportCommand } from "../lines/command";
import { headValue } from "../state/head";
import { NOTHING_SAVED, type RowFormat } from "../state/save";
import { blocks, dispatch, question, save, state } from "../state/store";
import { copyText } from "../views/copy";
import { download } from "./download";
import { fileName } from "./fileName";
import { LineSaver } from "./lines";
import { captionOf } from "./picture";
import { type Picture, pngOf, svgOf } from "./pictureFile";
import { chooseQuestion, reader } from "./reading";
import { curlCommand, ROW_ENDINGS, rowsAddress } from "./rows";

/** Why there is no address of the rows, or of the view. */
export const TOO_LONG = "the filter is too long for an address: copy the command";

const NO_CLIPBOARD = "The browser does not allow to copy";
const NO_CANVAS = "The browser does not allow to draw the picture";

const saver = new LineSaver(reader, fileOf);

/** Finds out what can be saved of the question on the screen. */
export async function probeLines(): Promise<void> {
  if (save.peek().outcome.isReading) return;
  const { outcome, probe } = NOTHING_SAVED;
  dispatch({ type: "save", part: { outcome, probe } });
  if (state.peek().connection !== "open") return;
  const asked = chooseQuestion();
  const found = await saver.probe();
  if (asked === question.peek()) dispatch({ type: "save", part: { probe: found } });
}

/** Saves the lines of the question on the screen. */
export async function saveLines(): Promise<void> {
  chooseQuestion();
  const name = nameOf("txt");
  tell("Reading the lines…", true);
  const saved = await saver.read((part) => tell(`Reading the lines: ${share(part, 1)}`, true));
  if ("problem" in saved) return tell(visible(saved.problem));
  download(name, saved.file);
  tell(`Saved ${plural(saved.lines, "line")} as ${name}`);
}

/** Stops the reading of lines. */
export function stopReading(): void {
  saver.stop();
}

/** The chart of a report as a picture has it; `null` if there is none. */
export function pictureOf(report: Report): Drawing | null {
  const drawing = drawingOf(report, "light", errorLogBlocks(blocks.value.report));
  return drawing === null || drawing.histogram.buckets.length === 0 ? null : drawing;
}

/** Saves the chart. */
export async function savePicture(report: Report, format: "png" | "svg"): Promise<void> {
  const picture = captioned(report);
  if (picture === null) return;
  const file = format === "svg" ? svgOf(picture) : await pngOf(picture);
  if (file === null) return tell(NO_CANVAS);
  const name = nameOf(format);
  download(name, file);
  tell(`Saved the chart as ${name}`);
}

/** Copies the chart as a picture. */
export async function copyPicture(report: Report): Promise<void> {
  const picture = captioned(report);
  if (picture === null) return;
  const type = "image/png";
  // The clipboard is asked before the picture is drawn, because it belongs to the gesture.
  const drawn = pngOf(picture).then((file) => file ?? Promise.reject(new Error(NO_CANVAS)));
  try {
    await navigator.clipboard.write([new ClipboardItem({ [type]: drawn })]);
    tell("Copied the chart");
  } catch {
    tell(NO_CLIPBOARD);
  }
}

function captioned(report: Report): Picture | null {
  const drawing = pictureOf(report);
  if (drawing === null) return null;
  return { drawing, caption: captionOf(drawing, sources(), question.peek()), report };
}

/** Chooses the format of rows. */
export function chooseFormat(format: RowFormat): void {
  dispatch({ type: "save", part: { format } });
}

/** The commands that can be copied. */
export const COMMANDS = ["report", "grep", "export", "curl"] as const;
export type CommandName = (typeof COMMANDS)[number];

/** Copies a command. */
export async function copyCommand(command: string): Promise<void> {
  const isCopied = await copyText(command);
  tell(isCopied ? "Copied" : NO_CLIPBOARD);
}

/**
 * The command that reports what is on the screen, prints its lines, or writes its rows in the chosen
 * format; `null` if the filter is too long for the address of the rows.
 */
export function commandOf(command: CommandName, report: Report): string | null {
  const { format, probe } = save.value;
  if (command === "report") return reportCommand(question.value, sources());
  if (command === "export") {
    const output = nameOf(ROW_ENDINGS[format]);
    return exportCommand(question.value, report.kind, sources(), output);
  }
  if (command === "curl") {
    const { session } = state.value;
    const address =
      session === null ? null : rowsAddress(session, question.value, report.kind, format);
    return address === null
      ? null
      : curlCommand(location.origin, address, headValue("weir-token") !== null);
  }
  const { sources: numbers } = probe;
  // A source of records, such as a table, has no lines that a command could print.
  const isNamed = ({ number, records_only }: Source) =>
    !records_only && (numbers === null || numbers.includes(number));
  return grepCommand(question.value, sources().filter(isNamed));
}

function sources(): readonly Source[] {
  return state.peek().view?.sources ?? [];
}

function nameOf(extension: string): string {
  return fileName(sources(), question.peek(), extension);
}

/** Says what became of a choice. */
export function tell(text: string, isReading = false): void {
  dispatch({ type: "save", part: { outcome: { text, isReading } } });
}
