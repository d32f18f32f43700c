// The cases, and which browser runs which of them.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { access } from "../cases/access.mjs";
import { agreeing } from "../cases/agreeing.mjs";
import { behind } from "../cases/behind.mjs";
import { counting } from "../cases/counting.mjs";
import { entering } from "../cases/entering.mjs";
import { families } from "../cases/families.mjs";
import { filtering } from "../cases/filtering.mjs";
import { following } from "../cases/following.mjs";
import { formatting } from "../cases/formatting.mjs";
import { frame } from "../cases/frame.mjs";
import { gateway } from "../cases/gateway.mjs";
import { glass } from "../cases/glass.mjs";
import { growing } from "../cases/growing.mjs";
import { hostile } from "../cases/hostile.mjs";
import { inside } from "../cases/inside.mjs";
import { lab } from "../cases/lab.mjs";
import { latency } from "../cases/latency.mjs";
import { lines } from "../cases/lines.mjs";
import { logging } from "../cases/logging.mjs";
import { looking } from "../cases/looking.mjs";
import { measuring } from "../cases/measuring.mjs";
import { mixing } from "../cases/mixing.mjs";
import { reading } from "../cases/reading.mjs";
import { replaying } from "../cases/replaying.mjs";
import { returning } from "../cases/returning.mjs";
import { saving } from "../cases/saving.mjs";
import { sharing } from "../cases/sharing.mjs";
import { sources } from "../cases/sources.mjs";
import { stories } from "../cases/stories.mjs";
import { tripping } from "../cases/tripping.mjs";
import { trying } from "../cases/trying.mjs";
import { wall } from "../cases/wall.mjs";
import { whole } from "../cases/whole.mjs";
import { launchForTests } from "./browser.mjs";
import { slowCommands } from "./slowTest.mjs";
import { generate } from "./weir.mjs";
import { World } from "./world.mjs";

/** Guards against a case that hangs, also on a machine that is ten times slower. */
const CASE_MS = 3_600_000;
/** Large enough that its progress is visible on a fast machine too, and that uploads pause twice. */
const LARGE = "300MB";

/** The cases that need the large log, which is generated for them. */
const OF_LARGE_LOG = [growing, sources, access];

/**
 * The parts of the suite, which run side by side, each in a browser of its own. Those of one browser
 * take about as long as each other.
 */
const PARTS = {
  "chromium-outputs": ["chromium", [agreeing]],
  "chromium-files": [
    "chromium",
    [
      reading,
      following,
      returning,
      formatting,
      saving,
      sharing,
      mixing,
      hostile,
      looking,
      entering,
      logging,
    ],
  ],
  "chromium-questions": [
    "chromium",
    [
      frame,
      families,
      whole,
      latency,
      wall,
      filtering,
      trying,
      replaying,
      lab,
      lines,
      stories,
      tripping,
    ],
  ],
  "chromium-inside": ["chromium", [gateway, glass, inside, behind, counting, measuring]],
  "chromium-large": ["chromium", OF_LARGE_LOG],
  // What differs between browsers: uploads and their back pressure, files and downloads, pointer
  // and keyboard, layout, how text is kept from being executed. The others only show what the
  // server has answered, by means that these use too.
  "firefox-small": [
    "firefox",
    [reading, entering, following, frame, filtering, latency, saving, hostile, looking],
  ],
  "firefox-large": ["firefox", [...OF_LARGE_LOG, measuring]],
};

/** Runs the part of this name. */
export function part(name) {
  suite(...PARTS[name]);
}

/**
 * Runs cases. `WEIR_SHOTS=DIR` saves a screenshot of each failed case. `WEIR_SLOW_FRAMES=150` draws
 * each frame that many milliseconds late, which shows a case that reads too early.
 * `WEIR_SLOW_TEST=50` delays each command to the browser, which shows a case that acts too late.
 */
function suite(browserName, all) {
  describe(browserName, () => {
    let driven;
    let folder;
    const shared = { browserName };
    before(async () => {
      slowCommands();
      driven = await launchForTests(browserName);
      if (!all.includes(growing)) return;
      folder = await mkdtemp(join(tmpdir(), "weir-large-"));
      shared.large = join(folder, "large.log");
      await generate(shared.large, LARGE, 5);
    });
    after(async () => {
      if (folder) await rm(folder, { recursive: true, force: true });
      await driven.close();
    });
    const define = (title, body, options) => {
      test(title, { timeout: CASE_MS }, () => inWorld(driven, title, body, options));
    };
    for (const cases of all) cases(define, shared);
  });
}

async function inWorld(driven, title, body, options) {
  const world = await World.start(driven, options);
  try {
    await body(world);
    await world.check();
  } catch (error) {
    await picture(world, title);
    throw error;
  } finally {
    await world.end();
  }
}

async function picture(world, title) {
  const folder = process.env.WEIR_SHOTS;
  if (!folder) return;
  const path = join(folder, `${world.browserName} ${title.replaceAll(/[^\w]+/g, " ")}.png`);
  await world.page.screenshot({ path }).catch(() => {});
}
