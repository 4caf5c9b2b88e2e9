/** Confirms a change. Uses the browser's own dialog, which keeps the focus and closes on Escape. */

import { el } from "./dom.js";

/**
 * Show a dialog and wait until it is closed.
 *
 * @param {Object} options
 * @param {string} options.title
 * @param {import("./dom.js").Child[]} options.body
 * @param {string} options.action the label of the button
 * @param {boolean} [options.danger] whether the action is destructive
 * @returns {Promise<FormData|null>} the fields of the body, or null if the dialog was cancelled
 */
export function ask({ title, body, action, danger = false }) {
  const form = el(
    "form",
    { method: "dialog" },
    el("h2", { id: "dialog-title" }, title),
    ...body,
    el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", class: "button", onclick: () => dialog.close() }, "Close"),
      el("button", { type: "submit", class: danger ? "button danger" : "button primary", value: "yes" }, action),
    ),
  );
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault(); // the content security policy forbids form submission
      answer = new FormData(form);
      dialog.close("yes");
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    dialog.showModal();
  });
}
