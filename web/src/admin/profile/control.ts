/** Taking a profile, and saving it. */

import { download } from "../../save/download";
import { ask, failureText } from "../ask";
import { profile, update } from "../store";
import { waitFor } from "../waiting";
import { parseStacks, summaryText } from "./stacks";

/** The kinds of profiles, and the nouns for what they measure. */
export const KINDS = {
  processor: "processor time",
  waiting: "waiting",
  allocated: "allocated memory",
  held: "held memory",
} as const;
type ProfileKind = keyof typeof KINDS;

/** The formats in which a profile can be saved, with the ends of file names. */
export const FORMATS = { pprof: "pb", folded: "folded" } as const;
export type ProfileFormat = keyof typeof FORMATS;

/** Takes a profile as a form asks for it. */
export async function takeProfile(form: FormData): Promise<void> {
  const seconds = Number(form.get("seconds"));
  const kind = String(form.get("kind")) as ProfileKind;
  const parameters = new URLSearchParams({
    by: "stage",
    seconds: String(seconds),
    hz: String(form.get("hz")),
    kind,
  });
  await waitFor(
    seconds,
    (waiting) => update("profile", waiting),
    async () => {
      const answer = await ask(`/profile/folded?${parameters}`);
      const field = (name: string) => answer.headers.get(`profile-${name}`) ?? "";
      const stacks = parseStacks(await answer.text());
      const taken = {
        id: field("id"),
        stacks,
        samples: stacks.reduce((sum, { samples }) => sum + samples, 0),
        total: Number(field("total")),
        unit: field("unit"),
        lost: Number(field("lost")),
        noun: KINDS[kind],
      };
      update("profile", { profile: taken });
      return summaryText(taken);
    },
  );
}

/** Saves the profile on the screen. A plain link would save the refusal if it is kept no more. */
export async function saveProfile(format: ProfileFormat): Promise<void> {
  const { id } = profile.peek().profile ?? { id: "" };
  try {
    const answer = await ask(`/profile/${format}?id=${id}`);
    download(`weir.${FORMATS[format]}`, await answer.blob());
  } catch (error) {
    update("profile", { message: failureText(error), isBad: true });
  }
}
