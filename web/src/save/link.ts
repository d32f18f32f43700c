/** The address of what is on the screen, and whom it serves. */

import { isInAddress } from "../control/history";
import { headValue } from "../state/head";
import { state } from "../state/store";
import { isName } from "../state/url";
import { copyText } from "../views/copy";
import { TOO_LONG, tell } from "./control";
import { scopeText } from "./scope";

/** Who can open the address of the page. */
export function linkScope(): string {
  return scopeText({
    host: location.host,
    needsToken: headValue("weir-token") !== null,
    isKept: isName(state.value.session),
  });
}

/** Why the address does not lead to what is on the screen; `null` if it does. */
export function linkProblem(): string | null {
  return isInAddress() ? null : TOO_LONG;
}

/** Copies the address. */
export async function copyLink(): Promise<void> {
  const isCopied = await copyText(location.href);
  tell(isCopied ? "Copied the link" : "The browser does not allow to copy");
}
