/** The version of this page, and of the one that the server has now. */

import { isUploading } from "./uploads";

const SCRIPT = "/assets/app.js";

/** The tag of the script that runs; `null` while it is not known. */
let own: string | null = null;

/** Notes the version of this page. Called once. */
export async function noteVersion(): Promise<void> {
  own = await tag();
}

/**
 * Loads the page again if the server has another one, after an upgrade. The question is in the
 * address, so it stays. An upload would be lost, so it is waited for.
 */
export async function reloadIfNewer(): Promise<void> {
  const current = await tag();
  if (own !== null && current !== null && current !== own && !isUploading()) location.reload();
}

async function tag(): Promise<string | null> {
  try {
    const response = await fetch(SCRIPT, { method: "HEAD" });
    return response.ok ? response.headers.get("etag") : null;
  } catch {
    return null;
  }
}
