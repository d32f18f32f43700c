/** What a client looks like and why it is good, in words. Pure functions. */

import { plural, share } from "../format/number";
import type { ClientLooks } from "../generated/ClientLooks";
import type { ClientProfile } from "../generated/ClientProfile";
import { reasonText } from "./good";

interface LooksWords {
  word: string;
  /** The rule, for a title. */
  title: string;
}

const LOOKS: Record<ClientLooks, LooksWords> = {
  person: {
    word: "person",
    title: "No agent of it is a program's, and it signed in, or loaded a page and its files",
  },
  crawler: {
    word: "crawler (claimed)",
    title: "Its agent is that of a search engine, which is only a claim: anyone can send it",
  },
  monitor: {
    word: "monitor (claimed)",
    title: "Its agent is that of a monitor, which is only a claim: anyone can send it",
  },
  attack: {
    word: "attack",
    title: "It asked for what only scanners ask for, or most of its requests were refused",
  },
  program: { word: "program", title: "An agent of it is a program's, or is missing" },
  unknown: { word: "unknown", title: "Its requests do not say what it is" },
};

/** `person`. */
export function looksWord(looks: ClientLooks): string {
  return LOOKS[looks].word;
}

/** The rule by which a client looks like this. */
export function looksTitle({ looks, floods }: ClientProfile): string {
  const { title } = LOOKS[looks];
  return floods
    ? `${title}. It sends 60 requests or more in a minute, so that does not protect it`
    : title;
}

/** `person, signed in`. */
export function marksText({ looks, good, claims_user, floods }: ClientProfile): string {
  // What it looks like says already that it claims to be a crawler or a monitor.
  const others = (good ?? []).filter(
    (reason) => reason === "signed_in" || reason === "named_network",
  );
  const claims = [claims_user ? "user (claimed)" : null, floods ? "floods" : null];
  const words = [LOOKS[looks].word, ...others.map(reasonText), ...claims];
  return words.filter((word) => word !== null).join(", ");
}

/** `Firefox; 12 requests in all, 8% with errors; the first for /login`. */
export function profileText({ agent, requests, errors, first_path }: ClientProfile): string {
  const parts = agent === undefined ? [] : [agent];
  const failed = errors === 0 ? "none" : share(errors, requests);
  const first = first_path === undefined ? "" : `, the first for ${first_path}`;
  parts.push(`${plural(requests, "request")} in all, ${failed} with errors${first}`);
  return parts.join("; ");
}
