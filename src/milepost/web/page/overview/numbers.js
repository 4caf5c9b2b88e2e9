/** The numbers that somebody looks at first. */

import { el } from "../../lib/dom.js";
import { age, bytes, duration, NOTHING, number, rate } from "../../lib/format.js";

/**
 * @param {import("../../pages.js").Context} context
 * @param {Object} known what the overview has asked for
 * @returns {HTMLElement}
 */
export function keyNumbers(context, { progress, checkpoints, recent, offsets, sample }) {
  const { now } = context.job();
  const completed = checkpoints.latest.completed;
  const last = recent.find((each) => each.status === "COMPLETED");
  const failed = checkpoints.counts.failed;
  const lag = sample?.lag ?? sumOf(offsets?.partitions, "lag");
  return el(
    "section",
    { class: "card", key: "numbers" },
    el("h2", {}, "Now"),
    el(
      "dl",
      { class: "numbers" },
      fact("rows", "Rows written", number(progress.rows), "since the start"),
      fact("rate", "Rows per second", sample ? rate(sample["rows-per-second"]) : NOTHING, sample?.["records-per-second"] == null ? "" : `${rate(sample["records-per-second"])} read`),
      fact("lag", "Lag", number(lag), "records behind"),
      fact("age", "Last checkpoint", completed ? age(endOf(last, completed), now) : NOTHING, completed ? `#${completed.id}` : "none yet"),
      fact("duration", "It took", duration(completed?.end_to_end_duration), last ? `${number(last.rows)} rows` : ""),
      fact("size", "Its size", last ? bytes(last.bytes) : bytes(completed?.state_size), last ? `${bytes(last["state-bytes"])} of state` : ""),
      fact("failed", "Failed checkpoints", number(failed), `${number(checkpoints.counts.completed)} completed`, failed ? "bad" : null),
      rejected(progress.rejected),
    ),
  );
}

function endOf(last, completed) {
  return last && last.id === completed.id ? last["ended-at"] : completed.latest_ack_timestamp;
}

function rejected(reasons) {
  const entries = Object.entries(reasons).filter(([, count]) => count);
  const bad = entries.filter(([reason]) => reason !== "NO_CHANGE");
  const total = bad.reduce((sum, [, count]) => sum + count, 0);
  const text = entries.map(([reason, count]) => `${reason.toLowerCase().replaceAll("_", " ")} ${number(count)}`).join(", ");
  return fact("rejected", "Rejected records", number(total), text, total ? "warn" : null);
}

function sumOf(partitions, name) {
  const values = (partitions ?? []).map((each) => each[name]).filter((value) => typeof value === "number");
  return values.length ? values.reduce((sum, value) => sum + value, 0) : null;
}

function fact(key, title, value, below, kind = null) {
  return el("div", { key, class: kind }, el("dt", {}, title), el("dd", { id: `number-${key}` }, value, below ? el("small", {}, below) : null));
}
