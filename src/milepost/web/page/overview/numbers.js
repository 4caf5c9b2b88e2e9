/** The key figures of the job. */

import { el } from "../../lib/dom.js";
import { age, bytes, count, duration, NOTHING, number, rate } from "../../lib/format.js";

/**
 * @param {import("../../pages.js").Context} context
 * @param {Object} known the responses that the overview has fetched
 * @returns {HTMLElement}
 */
export function keyNumbers(context, { progress, checkpoints, recent, offsets, states, sample }) {
  const { now } = context.job();
  const completed = checkpoints.latest.completed;
  const last = recent.find((each) => each.status === "COMPLETED");
  const failed = checkpoints.counts.failed;
  const lag = sample?.lag ?? sumOf(offsets?.partitions, "lag");
  return el(
    "section",
    { class: "card", key: "numbers" },
    el("h2", {}, sample ? "Now" : "At the last checkpoint"),
    el(
      "dl",
      { class: "numbers" },
      fact("rows", "Rows written", number(progress.rows), "since the start"),
      sample ? liveRate(sample) : fact("rate", "Rows per second", rate(average(context, progress, states, last)), "on average"),
      fact("lag", "Lag", number(lag), "records behind"),
      fact("age", "Last checkpoint", completed ? age(endOf(last, completed), now) : NOTHING, completed ? `#${completed.id}` : restored(progress)),
      fact("duration", "Duration", duration(completed?.end_to_end_duration), last ? `${count(last.rows, "row")}, ${bytes(last.bytes)} written` : ""),
      fact("size", "State", bytes(completed?.state_size), completed ? `in checkpoint #${completed.id}` : ""),
      fact("failed", "Failed checkpoints", number(failed), `${number(checkpoints.counts.completed)} completed`, failed ? "bad" : null),
      rejected(progress.rejected),
      late(progress.late),
    ),
  );
}

function liveRate(sample) {
  const read = sample["records-per-second"];
  return fact("rate", "Rows per second", rate(sample["rows-per-second"]), read === null ? "" : `${rate(read)} read`);
}

/** Rows per second from the start of a run to its last checkpoint, for a job that is not sampled. */
function average(context, progress, { states }, last) {
  const begin = states.find((each) => each["job-id"] === context.job().id)?.from;
  const passed = last && begin ? Date.parse(last["ended-at"]) - begin : 0;
  return passed > 0 ? (progress.rows * 1000) / passed : null;
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

/** Late records of each source; a source without any is omitted. */
function late(sources) {
  const entries = Object.entries(sources).filter(([, count]) => count);
  const total = entries.reduce((sum, [, count]) => sum + count, 0);
  const text = Object.keys(sources).length > 1 ? entries.map(([view, count]) => `${view} ${number(count)}`).join(", ") : "";
  return fact("late", "Late records", number(total), text || "dropped behind the watermark", total ? "warn" : null);
}

function restored(progress) {
  const id = progress["checkpoint-id"];
  return id === null ? "none yet" : `restored from #${id}`;
}

function sumOf(partitions, name) {
  const values = (partitions ?? []).map((each) => each[name]).filter((value) => typeof value === "number");
  return values.length ? values.reduce((sum, value) => sum + value, 0) : null;
}

function fact(key, title, value, below, kind = null) {
  return el("div", { key, class: kind }, el("dt", {}, title), el("dd", { id: `number-${key}` }, value, below ? el("small", {}, below) : null));
}
