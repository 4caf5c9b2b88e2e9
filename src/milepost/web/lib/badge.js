/** A state as a word with a colour and a symbol: never the colour alone. */

import { el } from "./dom.js";

const KINDS = {
  RUNNING: ["good", "●"],
  FINISHED: ["calm", "✓"],
  COMPLETED: ["good", "✓"],
  IN_PROGRESS: ["busy", "◔"],
  CREATED: ["busy", "◔"],
  INITIALIZING: ["busy", "◔"],
  RESTARTING: ["warn", "↻"],
  CANCELLING: ["warn", "◔"],
  CANCELED: ["calm", "■"],
  SUSPENDED: ["warn", "‖"],
  FAILING: ["bad", "✕"],
  FAILED: ["bad", "✕"],
  ok: ["good", "✓"],
  missing: ["warn", "◔"],
  warning: ["warn", "!"],
};

/**
 * @param {string} state
 * @param {string} [text] the text to show instead of the state
 * @returns {HTMLElement}
 */
export function badge(state, text = state) {
  const [kind, sign] = KINDS[state] ?? ["calm", "○"];
  return el("span", { class: `badge ${kind}` }, el("span", { "aria-hidden": "true" }, sign), ` ${text}`);
}
