/** The checkpoint in flight: how many have acknowledged, and who is missing. */

import { el } from "../../lib/dom.js";
import { acknowledged, age, number } from "../../lib/format.js";
import { isOver } from "../../lib/job.js";
import { address } from "../checkpoint/address.js";

const NAMED = 8;

/**
 * @param {import("../../pages.js").Context} context
 * @param {Object} known what the overview has asked for
 * @returns {HTMLElement}
 */
export function pendingCard(context, { pending }) {
  return el("section", { class: "card", key: "pending" }, el("h2", {}, "Checkpoint in progress"), pending ? acks(context, pending) : nothing(context));
}

function acks(context, pending) {
  const said = pending.acknowledged.length;
  const all = pending.expected;
  const missing = pending.missing;
  const names = missing.slice(0, NAMED).join(", ") + (missing.length > NAMED ? ` and ${number(missing.length - NAMED)} more` : "");
  return [
    el(
      "div",
      { class: "row" },
      el("a", { href: address(pending.id, Date.parse(pending["triggered-at"])) }, `#${pending.id}`),
      el("span", { id: "acknowledged" }, all === null ? `${number(said)} acknowledged so far; its batch has not started` : `${acknowledged(said, all)} acknowledged`),
      el("span", { class: "faint end" }, `triggered ${age(pending["triggered-at"], context.job().now)}`),
    ),
    el("progress", { value: String(said), max: String(Math.max(all ?? 1, 1)), "aria-label": "Acknowledgements" }),
    names && all !== null ? el("p", { class: "faint tight" }, `Missing: ${names}`) : null,
  ];
}

function nothing(context) {
  const isPast = isOver(context.job().state) || Boolean(context.job().abilities.note);
  return el("p", { class: "empty" }, isPast ? "None that this page knows of." : "None; the next one begins with the interval, or when it is asked for.");
}
