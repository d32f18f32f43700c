/** Replies of the server to parts of the page that are loaded after the first picture. */

import type { LiveReply } from "../generated/LiveReply";

/** What takes the replies to questions about rules and lines. */
export interface Takers {
  ruled(session: string, reply: Extract<LiveReply, { type: "rules" }>): void;
  lined(reply: Extract<LiveReply, { type: "lines" }>): void;
}

let takers: Takers | null = null;

/** Gives the replies to these from now on. */
export function takeReplies(by: Takers): void {
  takers = by;
}

/** Hands on a reply about rules. There is none before something has asked. */
export const ruled: Takers["ruled"] = (session, reply) => takers?.ruled(session, reply);

/** Hands on a reply with lines. */
export const lined: Takers["lined"] = (reply) => takers?.lined(reply);
