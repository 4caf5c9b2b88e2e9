/** The checkpoint in flight: acknowledgements and missing participants. */

import { el } from "../../lib/dom.js";
import { acknowledged, age, number } from "../../lib/format.js";
import { isOver } from "../../lib/job.js";
import { address } from "../checkpoint/address.js";

const NAMED = 8;

/**
 * @param {import("../../pages.js").Context} context
 * @param {Object} known the responses that the overview has fetched
 * @returns {HTMLElement}
 */
export function pendingCard(context, { pending }) {
  return el("section", { class: "card", key: "pending" }, el("h2", {}, "Checkpoint in progress"), pending ? acks(context, pending) : nothing(context));
}

function acks(context, pending) {
  const received = pending.acknowledged.length;
  const all = pending.expected;
  const missing = pending.missing;
  const names = missing.slice(0, NAMED).join(", ") + (missing.length > NAMED ? ` and ${number(missing.length - NAMED)} more` : "");
  return [
    el(
      "div",
      { class: "row" },
      el("a", { href: address(pending.id, Date.parse(pending["triggered-at"])) }, `#${pending.id}`),
      el("span", { id: "acknowledged" }, all === null ? `${number(received)} acknowledged so far; its batch has not started` : `${acknowledged(received, all)} acknowledged`),
      el("span", { class: "faint end" }, `triggered ${age(pending["triggered-at"], context.job().now)}`),
    ),
    el("progress", { value: String(received), max: String(Math.max(all ?? 1, 1)), "aria-label": "Acknowledgements" }),
    names && all !== null ? el("p", { class: "faint tight" }, `Missing: ${names}`) : null,
  ];
}

function nothing(context) {
  const isPast = isOver(context.job().state) || Boolean(context.job().abilities.note);
  return el("p", { class: "empty" }, isPast ? "None is known." : "None; the next one starts after the interval or on request.");
}
