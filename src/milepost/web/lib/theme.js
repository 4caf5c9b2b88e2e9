/** Light or dark: what the system says, until somebody chooses; the choice is remembered in this browser. */

const KEY = "milepost-theme";
const listeners = new Set();

/** @returns {"light"|"dark"} what is shown now */
export function theme() {
  return chosen() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

/** Show what was chosen earlier. */
export function startTheme() {
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
}

/** Change to the other one. */
export function switchTheme() {
  try {
    localStorage.setItem(KEY, theme() === "dark" ? "light" : "dark");
  } catch {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark"; // not remembered, but shown
  }
  apply();
}

/**
 * Be told when the colours have changed, which a canvas does not see by itself.
 *
 * @param {() => void} listener
 * @returns {() => void} ends it
 */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function apply() {
  const wanted = chosen();
  if (wanted) document.documentElement.dataset.theme = wanted;
  for (const listener of listeners) listener();
}

function chosen() {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : (document.documentElement.dataset.theme ?? null);
  } catch {
    return document.documentElement.dataset.theme ?? null;
  }
}
