/** The format box: for which source it is open, and how its format is applied. */

import { computed, effect, signal } from "@preact/signals";
import { notify, remove } from "../control/session";
import { fileOf, upload } from "../control/uploads";
import type { FormatTrial } from "../generated/FormatTrial";
import type { Source } from "../generated/Source";
import { readAgain, tryFormat } from "../socket/session";
import { isOver } from "../state/rows";
import { state } from "../state/store";

/** The lines that are tried: as many bytes of the start of a file as the server takes. */
const LINES_BYTES = 64 * 1024;

/** The number of the source whose box a person has opened. */
const opened = signal<number | null>(null);
const isClosed = signal(false);

/** The source whose format box is shown: one that was chosen, or the first log that was not read. */
export const boxSource = computed<Source | null>(() => {
  const sources = state.value.view?.sources ?? [];
  const chosen = sources.find((source) => source.number === opened.value);
  if (chosen) return chosen;
  if (isClosed.value) return null;
  return sources.find((source) => source.unread?.is_log) ?? null;
});

/** Whether a format may be given to a source: it has been read, and its lines may be more. */
export function hasFormatBox(source: Source): boolean {
  if (!isOver(source.state) || source.records_only) return false;
  const hasUnnamed = /\$extra_(before_)?\d/.test(source.format?.suggestion ?? "");
  return hasUnnamed || source.unparsed_lines > 0;
}

/** Opens the box for a source. */
export function openBox(number: number): void {
  opened.value = number;
}

/** Closes the box. */
export function closeBox(): void {
  opened.value = null;
  isClosed.value = true;
}

/** Tries a definition on the first lines of a source; the suggested one if it is empty. */
export async function tryOn(source: Source, definition: string): Promise<FormatTrial | null> {
  const { session } = state.value;
  if (session === null) return null;
  const file = source.file === "" ? null : await fileOf(source.file);
  const lines = file?.blob.slice(0, LINES_BYTES) ?? null;
  return tryFormat(session, source.number, definition, lines);
}

/**
 * Reads a source again in a format: the page sends the bytes again if it has the file, and the server
 * reads a file on its disk. Returns why that is not possible.
 */
export async function apply(source: Source, format: string): Promise<string | null> {
  const { session } = state.value;
  if (session === null) return null;
  const file = source.file === "" ? null : await fileOf(source.file);
  try {
    if (file) {
      const { name, fingerprint, number } = source;
      await checkReadable(file.blob, name);
      whenBegun(session, name, () => void remove(number));
      await upload(session, [{ name, blob: file.blob, fingerprint, format }]);
    } else {
      await readAgain(session, source.number, format);
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  notify(null);
  opened.value = null;
  isClosed.value = false;
  return null;
}

/** Throws if the browser no longer lets a file be read. */
async function checkReadable(blob: Blob, name: string): Promise<void> {
  try {
    await blob.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error(`${name} has changed or is gone; add it again`);
  }
}

/** Calls a function when the server has begun to read a further file of this name. */
function whenBegun(session: string, name: string, begun: () => void): void {
  const sources = () => state.value.view?.sources ?? [];
  const last = Math.max(...sources().map((source) => source.number));
  let isOver = false;
  const stop = effect(() => {
    const isNew = (source: Source) => source.number > last && source.name === name;
    isOver ||= state.value.session !== session;
    if (isOver || !sources().some(isNew)) return;
    isOver = true;
    // Not within the change of the state that is being looked at.
    setTimeout(() => {
      stop();
      begun();
    });
  });
}
