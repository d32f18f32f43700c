/** Questions to the program. */

import { useEffect } from "preact/hooks";

/** The time between two answers of a live page. */
export const INTERVAL_MS = 1000;

/** How long a live page waits for an answer. */
const TIMEOUT_MS = 5000;

/** Asks, and fails with the message of a refusal. */
export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const answer = await fetch(path, options);
  if (!answer.ok) throw new RefusedAnswer(await refusalOf(answer));
  return answer;
}

/** Asks for data that is known at once, or within another time. */
export async function askNow<Answer>(path: string, timeout_ms = TIMEOUT_MS): Promise<Answer> {
  const answer = await ask(path, { signal: AbortSignal.timeout(timeout_ms) });
  return (await answer.json()) as Answer;
}

/** The program has answered, but not with what was asked for. */
export class RefusedAnswer extends Error {}

/** What a person reads of a question that failed. */
export function failureText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof RefusedAnswer ? message : `The program did not answer: ${message}`;
}

/** Refusals are JSON at some addresses and a plain sentence at others. */
async function refusalOf(answer: Response): Promise<string> {
  const text = (await answer.text()).trim();
  if (!answer.headers.get("content-type")?.includes("json")) return text;
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text);
  } catch {
    return text;
  }
}

/** Looks every second while the page is on the screen. `look` must not change. */
export function useLooking(look: () => Promise<void>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    // A hidden page asks nothing.
    const lookIfSeen = async () => {
      if (document.visibilityState !== "hidden") await look();
    };
    const turn = async () => {
      await lookIfSeen();
      if (!isOver) timer = setTimeout(() => void turn(), INTERVAL_MS);
    };
    const stop = new AbortController();
    const onChange = () => void lookIfSeen();
    document.addEventListener("visibilitychange", onChange, { signal: stop.signal });
    void turn();
    return () => {
      isOver = true;
      clearTimeout(timer);
      stop.abort();
    };
  }, [look]);
}
