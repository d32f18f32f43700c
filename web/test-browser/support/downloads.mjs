// The files that a page saves.

import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

/** Time limit of a download. */
const DOWNLOAD_MS = 30_000;
const LOOK_AGAIN_MS = 20;

/** Lets the pages of a test save files without a question; returns where they are. */
export async function catchDownloads(world) {
  if (world.browserName === "firefox") return empty(world.downloadFolder);
  const session = await world.page.browser().target().createCDPSession();
  await session.send("Browser.setDownloadBehavior", {
    behavior: "allow",
    browserContextId: world.context.id,
    downloadPath: world.folder,
  });
  return new Downloads(world.folder);
}

/** All pages of Firefox save into one folder. */
async function empty(folder) {
  for (const name of await readdir(folder)) await rm(join(folder, name));
  return new Downloads(folder);
}

/** The downloads of one folder. */
export class Downloads {
  constructor(folder) {
    this.folder = folder;
  }

  /** Waits until a file of this name has been saved, and returns its bytes. */
  async file(name) {
    const end_ms = Date.now() + DOWNLOAD_MS;
    while (Date.now() < end_ms) {
      const names = await readdir(this.folder);
      // While it is saved it has another name, or one more file beside it.
      const isPartial = names.some((other) => /\.(crdownload|part)$/.test(other));
      const bytes = names.includes(name) && !isPartial && (await readFile(join(this.folder, name)));
      if (bytes && bytes.length > 0) return bytes;
      await new Promise((done) => setTimeout(done, LOOK_AGAIN_MS));
    }
    const names = await readdir(this.folder);
    throw new Error(`${name} was not saved, there are ${names.join(", ")}`);
  }
}
