/** Short messages about the result of an action; a failure stays until it is closed. */

import { el } from "./dom.js";

const SHOWN_MS = 15_000;

/**
 * @param {"good"|"bad"|"busy"} kind
 * @param {string} title
 * @param {string} [text]
 * @returns {{become: (kind: "good"|"bad"|"busy", title: string, text?: string) => void}} updates the message
 */
export function toast(kind, title, text = "") {
  const words = el("div", { class: "words" });
  const node = el(
    "div",
    {},
    words,
    el("button", { type: "button", class: "close", "aria-label": "Close the message", onclick: () => node.remove() }, "×"),
  );
  let timer = 0;
  const become = (now, heading, detail = "") => {
    node.className = `toast ${now}`;
    words.replaceChildren(el("strong", {}, heading), ...(detail ? [el("span", {}, detail)] : []));
    clearTimeout(timer);
    if (now === "good") timer = setTimeout(() => node.remove(), SHOWN_MS);
  };
  become(kind, title, text);
  document.getElementById("toasts").append(node);
  return { become };
}
