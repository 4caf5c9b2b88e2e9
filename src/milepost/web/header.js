/** The header of every page: the job, its state and its actions. */

import { el } from "./lib/dom.js";
import { badge } from "./lib/badge.js";
import { switchTheme, theme } from "./lib/theme.js";
import { actions } from "./actions.js";

/**
 * @param {import("./pages.js").Context} context
 * @returns {HTMLElement[]}
 */
export function header(context) {
  const job = context.job();
  return [
    el("a", { class: "brand", href: "#/overview" }, el("img", { src: "web/icon.svg", alt: "", width: "20", height: "20" }), "Milepost"),
    el("h1", { title: job.id }, job.name),
    badge(job.state),
    el("div", { class: "actions", role: "group", "aria-label": "Actions" }, actions(context)),
    themeButton(context),
  ];
}

function themeButton(context) {
  const next = theme() === "dark" ? "light" : "dark";
  const change = () => {
    switchTheme();
    context.refresh();
  };
  return el(
    "button",
    { type: "button", class: "button plain theme", onclick: change, "aria-label": `Switch to ${next} theme`, title: `Switch to ${next} theme` },
    next === "dark" ? "☾" : "☀",
  );
}
