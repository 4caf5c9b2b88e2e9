/** Light or dark theme: the system preference, until the user chooses; the choice is stored in the browser. */

const KEY = "milepost-theme";
const listeners = new Set();

/** @returns {"light"|"dark"} the current theme */
export function theme() {
  return chosen() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

/** Apply the stored choice. */
export function startTheme() {
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
}

/** Switch to the other theme. */
export function switchTheme() {
  try {
    localStorage.setItem(KEY, theme() === "dark" ? "light" : "dark");
  } catch {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark"; // applied, but not stored
  }
  apply();
}

/**
 * Call a listener when the colours change, which a canvas does not notice.
 *
 * @param {() => void} listener
 * @returns {() => void} removes the listener
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
