/** Light or dark: the system's choice, until the person makes their own. */

import { computed, effect, signal } from "@preact/signals";
import type { Theme } from "../chart/palette";

const KEY = "weir-theme";

const system = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = signal<Theme>(system.matches ? "dark" : "light");
const chosen = signal<Theme | null>(stored());

/** The theme on the screen. */
export const theme = computed<Theme>(() => chosen.value ?? systemTheme.value);

/** Keeps the document in step with the choice. Called once. */
export function followTheme(): void {
  system.addEventListener("change", (event) => {
    systemTheme.value = event.matches ? "dark" : "light";
  });
  effect(() => {
    const { dataset } = document.documentElement;
    if (chosen.value) dataset.theme = chosen.value;
    else delete dataset.theme;
  });
}

/** Goes to the other theme. One that is the system's own is not a choice of its own. */
export function toggleTheme(): void {
  const other: Theme = theme.value === "dark" ? "light" : "dark";
  chosen.value = other === systemTheme.value ? null : other;
  try {
    if (chosen.value) localStorage.setItem(KEY, chosen.value);
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}
