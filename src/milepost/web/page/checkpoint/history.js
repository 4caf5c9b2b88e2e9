/** All checkpoints in the history of the directory, newest first. */

import { el } from "../../lib/dom.js";
import { table } from "../../lib/table.js";
import { badge } from "../../lib/badge.js";
import { acknowledged, bytes, duration, NOTHING, number } from "../../lib/format.js";
import { stamp } from "../../lib/moment.js";
import { get } from "../../lib/rest.js";
import { address } from "./address.js";

const STEP = 50;
const MOST = 1000;

/**
 * @param {import("../../pages.js").Context} context
 * @param {{limit?: number}} kept
 */
export async function historyTab(context, kept) {
  kept.limit ??= STEP;
  const { id } = context.job();
  const [ended, { pending }] = await Promise.all([
    get(`milepost/jobs/${id}/checkpoints/history?limit=${kept.limit}`),
    get(`milepost/jobs/${id}/checkpoints/pending`),
  ]);
  const rows = [...(pending ? [inProgress(pending)] : []), ...ended.checkpoints];
  const more = () => {
    kept.limit = Math.min(kept.limit + STEP, MOST);
    context.refresh();
  };
  return el(
    "div",
    {},
    table({
      caption: "History of checkpoints",
      columns: COLUMNS,
      rows,
      key: (row) => `${row.id}-${row["trigger-timestamp"]}`,
      kind: (row) => (row.status === "FAILED" ? "bad" : null),
      empty: "No checkpoint has been triggered yet.",
    }),
    ended["next-before"] !== null && kept.limit < MOST
      ? el("p", { class: "more" }, el("button", { type: "button", class: "button", onclick: more }, "Show older checkpoints"))
      : null,
  );
}

const COLUMNS = [
  { title: "Id", numeric: true, value: (row) => el("a", { href: address(row.id, row["trigger-timestamp"]) }, `#${row.id}`) },
  { title: "Status", value: (row) => badge(row.status) },
  { title: "Acknowledged", numeric: true, value: (row) => acknowledged(row.acknowledged, row.expected) },
  { title: "Trigger", value: (row) => row.trigger.toLowerCase().replaceAll("_", " ") },
  { title: "Triggered", value: (row) => stamp(row["trigger-timestamp"]) },
  { title: "Duration", numeric: true, value: (row) => duration(row["duration-ms"]) },
  { title: "Rows", numeric: true, value: (row) => number(row.rows) },
  { title: "Written", numeric: true, value: (row) => bytes(row.bytes) },
  { title: "State", numeric: true, value: (row) => (row.status === "COMPLETED" ? bytes(row["state-bytes"]) : NOTHING) },
  { title: "Failed by", wide: true, value: failedBy },
];

function failedBy(row) {
  if (row.status !== "FAILED") return "";
  const cause = row["failed-by"].join(", ");
  const link = el("a", { href: address(row.id, row["trigger-timestamp"]) }, cause || row.sentence);
  return row.detail ? [link, " ", el("span", { class: "faint" }, row.detail)] : link;
}

function inProgress(pending) {
  const sum = (name, kinds) => pending.acknowledged.filter((ack) => kinds(ack.participant)).reduce((all, ack) => all + ack[name], 0);
  const isWriter = (name) => name.startsWith("writer/");
  return {
    ...pending,
    status: "IN_PROGRESS",
    "trigger-timestamp": Date.parse(pending["triggered-at"]),
    "duration-ms": null,
    rows: sum("rows", isWriter),
    bytes: sum("bytes", isWriter),
    acknowledged: pending.acknowledged.length,
    "failed-by": [],
  };
}
