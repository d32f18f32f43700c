// What the pages with a form share: they ask for something that takes its time, and say how it went.

export const element = (id) => document.getElementById(id);

/** Says something about what was asked for. */
export function say(text, isBad = false) {
  const message = element("message");
  message.textContent = text;
  message.classList.toggle("bad", isBad);
}

/** Does something that takes these seconds. The button `start` waits for it, and `progress` shows how far it is. */
export async function during(seconds, work) {
  const [start, progress, begun] = [element("start"), element("progress"), performance.now()];
  const timer = setInterval(() => {
    progress.value = Math.min((performance.now() - begun) / (seconds * 1000), 1);
  }, 100);
  start.disabled = true;
  progress.hidden = false;
  say("");
  try {
    await work();
  } catch (error) {
    if (error.name === "AbortError") say("stopped");
    else say(`The program did not answer: ${error.message}`, true);
  } finally {
    clearInterval(timer);
    start.disabled = false;
    progress.hidden = true;
    progress.value = 0;
  }
}

/** The answer to a question; `null` if it is a sentence why there is none, which is said. */
export async function ask(path, options = {}) {
  const answer = await fetch(path, options);
  if (answer.ok) return answer;
  say((await answer.text()).trim(), true);
  return null;
}
