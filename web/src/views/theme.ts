/** Light or dark: the choice of the system until the person chooses. */

import { computed, effect, signal } from "@preact/signals";
import type { Theme } from "../chart/palette";

const KEY = "weir-theme";

const system = matchMedia("(prefers-color-scheme: dark)");
const systemTheme = signal<Theme>(system.matches ? "dark" : "light");
const chosen = signal<Theme | null>(stored());

/** The theme on the screen. */
export const theme = computed<Theme>(() => chosen.value ?? systemTheme.value);

/** Applies the choice to the document. Called once. */
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

/** Switches the theme. Choosing the theme of the system clears the choice. */
export function toggleTheme(): void {
  const other: Theme = theme.value === "dark" ? "light" : "dark";
  chosen.value = other === systemTheme.value ? null : other;
  try {
    if (chosen.value) localStorage.setItem(KEY, chosen.value);
    else localStorage.removeItem(KEY);
  } catch {
    // Without storage the choice ends with the page.
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
