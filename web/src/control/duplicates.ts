/** Files that the session on the screen already has. */

import { removeSource } from "../socket/session";
import { dispatch, state } from "../state/store";
import { fingerprintOf } from "../upload/fingerprint";
import { recognise } from "../upload/recognise";
import type { NamedFile } from "../upload/uploads";
import { forgetUpload, upload } from "./uploads";

/** What to do with files that are there already. */
export type DuplicateChoice = "replace" | "keep both" | "skip";

interface Duplicate {
  file: NamedFile;
  number: number;
}

/** The files of the question on the screen. */
let waiting: Duplicate[] = [];

/**
 * Returns the files to upload at once: new ones, and those whose upload broke off. About the
 * others the person is asked.
 */
export async function sorted(files: readonly NamedFile[]): Promise<NamedFile[]> {
  const sources = state.value.view?.sources ?? [];
  const own = new Set(state.value.uploads.map((one) => one.file));
  const ready: NamedFile[] = [];
  const duplicates: Duplicate[] = [];
  for (const file of files) {
    const { name, blob } = file;
    const fingerprint = await fingerprintOf(blob);
    const found = recognise({ name, size: blob.size, fingerprint }, sources, own);
    if (found.type === "same") {
      duplicates.push({ file: { ...file, fingerprint }, number: found.number });
    } else {
      const resumed = found.type === "resume" ? { resumes: found.file } : {};
      ready.push({ ...file, fingerprint, ...resumed });
    }
  }
  ask([...waiting, ...duplicates]);
  return ready;
}

/** Applies the person's choice to the files of the question. */
export async function decide(choice: DuplicateChoice): Promise<void> {
  const { session, view } = state.value;
  const files = waiting;
  ask([]);
  if (choice === "skip" || session === null) return;
  if (choice === "replace") {
    try {
      for (const { number } of files) {
        const file = view?.sources.find((source) => source.number === number)?.file;
        await removeSource(session, number);
        if (file) forgetUpload(file);
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      dispatch({ type: "notice", message: `The files could not be replaced. ${why}` });
      return;
    }
  }
  const again = files.map(({ file }) => file);
  await upload(session, again);
}

function ask(duplicates: Duplicate[]): void {
  waiting = duplicates;
  const names = duplicates.map(({ file }) => file.name);
  dispatch({ type: "duplicates", duplicates: names.length > 0 ? { names } : null });
}
