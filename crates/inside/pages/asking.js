// Code shared by the pages with a form, which send long requests and report their outcome.

export const element = (id) => document.getElementById(id);

/** Shows a message about the request. */
export function say(text, isBad = false) {
  const message = element("message");
  message.textContent = text;
  message.classList.toggle("bad", isBad);
}

/** Runs work of a known duration. Meanwhile the button `start` is disabled, and `progress` advances. */
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

/** Sends a request. Shows the message of an error response, and returns `null`. */
export async function ask(path, options = {}) {
  const answer = await fetch(path, options);
  if (answer.ok) return answer;
  say((await answer.text()).trim(), true);
  return null;
}
