/** Asks before something is changed. The browser's own dialog: it keeps the focus, and Escape closes it. */

import { el } from "./dom.js";

/**
 * Show a dialog and wait for the answer.
 *
 * @param {Object} options
 * @param {string} options.title
 * @param {import("./dom.js").Child[]} options.body
 * @param {string} options.action what the button says
 * @param {boolean} [options.danger] whether something ends by it
 * @returns {Promise<FormData|null>} the fields of the body, or null where it was closed
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
      event.preventDefault(); // the policy of this page lets no form go anywhere
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
