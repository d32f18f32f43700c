/** Sends files of this page again for rules that look at lines. */

import { fileOf } from "../control/uploads";
import { visible } from "../format/text";
import type { LinesNeeded } from "../generated/LinesNeeded";
import type { NeededFile } from "../generated/NeededFile";
import { browserHost } from "../socket/host";
import type { FileAgain, LineReplay, ReplayProgress } from "../upload/lineReplay";

/** What a panel shows of its replay. */
export interface ReplayEvents {
  progressed(progress: ReplayProgress): void;
  /** The lines cannot be sent: why, as a clause. */
  failed(message: string): void;
}

/** The replay of a panel. */
interface OpenReplay {
  /** `null` until its files are found. */
  replay: LineReplay | null;
  files: FileAgain[];
}

/** By the number of the panel on the connection. */
const replays = new Map<number, OpenReplay>();

/** Sends the files that a panel needs, instead of those that it needed before. */
export async function sendLines(
  session: string,
  panel: number,
  needed: LinesNeeded,
  events: ReplayEvents,
): Promise<void> {
  endReplay(panel);
  if (needed.files.length === 0) return;
  const open: OpenReplay = { replay: null, files: [] };
  replays.set(panel, open);
  const fail = (message: string) => {
    if (replays.get(panel) === open) {
      endReplay(panel);
      events.failed(message);
    }
  };
  const sender = await loadSender().catch(() => null);
  if (sender === null) return fail("a part of the page could not be loaded.");
  for (const file of needed.files) {
    const found = await fileAgain(file, sender.fingerprintOf);
    if (found === null) return fail(`${goneText(file)} ${needed.remedy}`);
    if (found === "changed") return fail(changedText(file.name));
    open.files.push(found);
  }
  if (replays.get(panel) !== open) return;
  open.replay = new sender.LineReplay(
    browserHost,
    session,
    needed.replay,
    open.files,
    events.progressed,
    (message) => fail(message === sender.UNREADABLE ? `a file ${CHANGED}` : message),
  );
}

/** Loads what sends files again, which few rules need. */
async function loadSender() {
  const [{ LineReplay }, { fingerprintOf }, { UNREADABLE }] = await Promise.all([
    import("../upload/lineReplay"),
    import("../upload/fingerprint"),
    import("../upload/uploadConnection"),
  ]);
  return { LineReplay, fingerprintOf, UNREADABLE };
}

/** Ends the replay of a panel. */
export function endReplay(panel: number): void {
  replays.get(panel)?.replay?.end();
  replays.delete(panel);
}

/** Ends the replays of a session that is left. */
export function endReplays(): void {
  for (const panel of [...replays.keys()]) endReplay(panel);
}

/**
 * Ends the replay of a panel that the server has refused, and returns the reason if the page knows
 * it better: a connection breaks if the browser can no longer read the file.
 */
export async function reasonOfEnd(panel: number): Promise<string | null> {
  const open = replays.get(panel);
  endReplay(panel);
  for (const { name, blob } of open?.files ?? []) {
    if (!(await browserHost.isReadable(blob))) return `The file ${changedText(name)}`;
  }
  return null;
}

const CHANGED =
  "was changed, moved or deleted after it was added, so its lines cannot be read again. " +
  "Add the file again.";

function changedText(name: string): string {
  return `${visible(name)} ${CHANGED}`;
}

function goneText({ name }: NeededFile): string {
  return (
    `this page does not have ${visible(name)}: it was added on another page, or before this page ` +
    "was loaded."
  );
}

/** The part of a file that is sent again; `null` if this page does not have it. */
async function fileAgain(
  { file, name, bytes }: NeededFile,
  fingerprintOf: (blob: Blob) => Promise<string | null>,
): Promise<FileAgain | "changed" | null> {
  try {
    const found = await fileOf(file);
    if (found === null) return null;
    const { blob, base } = found;
    if (blob.size < base + bytes) return "changed";
    const fingerprint = base === 0 ? await fingerprintOf(blob) : null;
    if (base === 0 && fingerprint === null) return "changed";
    return { file, name, blob: blob.slice(base, base + bytes), fingerprint };
  } catch {
    return "changed";
  }
}
