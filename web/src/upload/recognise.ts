/** Recognises files that a session already has. */

import type { Source } from "../generated/Source";

/** What is known of a file before it is sent. */
export interface KnownFile {
  name: string;
  size: number;
  fingerprint: string | null;
}

export type Recognition =
  | { type: "new" }
  /** An upload of the file broke off: it goes on where it stopped. */
  | { type: "resume"; file: string }
  /** The session has a file of this name and size and with these bytes at its ends. */
  | { type: "same"; number: number };

/**
 * Compares a file with the sources of a session. `own` has the ids of the files that this page
 * is sending.
 */
export function recognise(
  file: KnownFile,
  sources: readonly Source[],
  own: ReadonlySet<string>,
): Recognition {
  const alike = sources.filter((source) => isAlike(file, source));
  const broken = alike.find(
    (source) =>
      source.state === "interrupted" && source.fingerprint !== null && !own.has(source.file),
  );
  if (broken) return { type: "resume", file: broken.file };
  return alike[0] ? { type: "same", number: alike[0].number } : { type: "new" };
}

/** Sources that were not uploaded by a page have no fingerprint: name and size have to do. */
function isAlike({ name, size, fingerprint }: KnownFile, source: Source): boolean {
  const differs = source.fingerprint !== null && source.fingerprint !== fingerprint;
  return source.name === name && source.bytes_total === size && !differs;
}
