// The two browsers.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

import { CHROMIUM, CHROMIUM_ARGS, CHROMIUM_SHELL } from "./chromium.mjs";
import { WAIT_MS } from "./page.mjs";

const TEST_ARGS = [
  ...CHROMIUM_ARGS,
  // The page must behave the same if its window is in the background.
  "--disable-background-timer-throttling",
  "--disable-renderer-backgrounding",
  "--disable-backgrounding-occluded-windows",
];

/** Network access that Firefox would otherwise make on its own. */
const FIREFOX_PREFS = {
  "app.update.disabledForTesting": true,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  // Links and buttons take the focus by Tab on every system.
  "accessibility.tabfocus": 7,
  // Files are saved without a question, into the folder that `launch` names.
  "browser.download.folderList": 2,
  "browser.download.alwaysOpenPanel": false,
};

/** Starts a browser with its own profile, which `close` deletes; `options` are those of Puppeteer. */
export async function launch(name, options = {}) {
  const profile = await mkdtemp(join(tmpdir(), `weir-${name}-`));
  const downloads = await mkdtemp(join(tmpdir(), "weir-downloads-"));
  const browser = await puppeteer.launch({
    browser: name === "firefox" ? "firefox" : "chrome",
    executablePath: name === "firefox" ? "/usr/bin/firefox-esr" : CHROMIUM,
    headless: true,
    userDataDir: profile,
    args: name === "firefox" ? [] : TEST_ARGS,
    extraPrefsFirefox: { ...FIREFOX_PREFS, "browser.download.dir": downloads },
    // The start of a browser takes long on a busy machine.
    timeout: WAIT_MS,
    // A wait is one call of the protocol.
    protocolTimeout: WAIT_MS + 15_000,
    ...options,
  });
  const close = async () => {
    await browser.close();
    for (const folder of [profile, downloads]) {
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  };
  return { name, browser, downloads, close };
}

/** Starts a browser for tests: Chromium without what its windows need, if that is installed. */
export function launchForTests(name) {
  const hasShell = name === "chromium" && existsSync(CHROMIUM_SHELL);
  return launch(name, hasShell ? { executablePath: CHROMIUM_SHELL, headless: "shell" } : {});
}
