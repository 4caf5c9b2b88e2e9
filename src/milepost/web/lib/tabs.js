/** Tabs: each is a link that can be opened, bookmarked and shared; arrow keys move between them. */

import { el } from "./dom.js";

/**
 * @param {string} label the description for screen readers
 * @param {{name: string, title: string, href: string}[]} tabs
 * @param {string} chosen the name of the selected tab
 * @returns {HTMLElement}
 */
export function tabs(label, tabs, chosen) {
  const links = tabs.map(({ name, title, href }) =>
    el(
      "a",
      {
        role: "tab",
        href,
        id: `tab-${name}`,
        "aria-selected": String(name === chosen),
        "aria-controls": "tab-panel",
        tabindex: name === chosen ? "0" : "-1",
        class: "tab",
      },
      title,
    ),
  );
  return el("div", { role: "tablist", "aria-label": label, class: "tabs", onkeydown: moveByArrow }, links);
}

/**
 * @param {string} chosen the name of the tab
 * @param {...any} children
 * @returns {HTMLElement}
 */
export function panel(chosen, ...children) {
  return el("div", { role: "tabpanel", id: "tab-panel", "aria-labelledby": `tab-${chosen}` }, ...children);
}

function moveByArrow(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const all = [...event.currentTarget.querySelectorAll('[role="tab"]')];
  const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
  event.preventDefault();
  next.focus();
  next.click();
}
