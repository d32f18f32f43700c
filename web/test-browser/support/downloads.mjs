// The files that a page saves.

import { watch } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { WAIT_MS } from "./page.mjs";

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
    let changed;
    const watcher = watch(this.folder, () => changed());
    const late = setTimeout(() => changed(true), WAIT_MS);
    try {
      for (;;) {
        // From here on, so that no change is missed while the folder is read.
        const change = new Promise((done) => (changed = done));
        const bytes = await this.#saved(name);
        if (bytes) return bytes;
        const names = await readdir(this.folder);
        if (await change) throw new Error(`${name} was not saved, there are ${names.join(", ")}`);
      }
    } finally {
      clearTimeout(late);
      watcher.close();
    }
  }

  /** The bytes of a file if it is there and whole. */
  async #saved(name) {
    const names = await readdir(this.folder);
    // While it is saved it has another name, or one more file beside it.
    const isPartial = names.some((other) => /\.(crdownload|part)$/.test(other));
    const bytes = names.includes(name) && !isPartial && (await readFile(join(this.folder, name)));
    return bytes && bytes.length > 0 ? bytes : undefined;
  }
}
