/** What somebody must know before anything else; each leads to where it is explained. */

import { el } from "../../lib/dom.js";
import { age, count, duration, number } from "../../lib/format.js";
import { address } from "../checkpoint/address.js";

const RETENTION_SOON_MS = 6 * 3600 * 1000;

/**
 * @param {import("../../pages.js").Context} context
 * @param {Object} known what the overview has asked for
 * @returns {(HTMLElement|null)[]}
 */
export function warnings(context, { checkpoints, recent, offsets }) {
  return [failedCheckpoint(context, checkpoints, recent), ...aboutOffsets(offsets)];
}

/** The latest checkpoint that failed, by the name of who made it fail; a later one that completed makes it milder. */
function failedCheckpoint(context, checkpoints, recent) {
  const { failed, completed } = checkpoints.latest;
  if (!failed) return null;
  const listed = recent.find((each) => each.id === failed.id && each["trigger-timestamp"] === failed.trigger_timestamp);
  const names = listed?.["failed-by"] ?? [];
  const isOver = completed && completed.trigger_timestamp > failed.trigger_timestamp;
  const who = names.length ? `${names.join(", ")} declined it.` : (listed?.sentence ?? failed.failure_message);
  return el(
    "a",
    { class: `notice ${isOver ? "warn" : "bad"}`, href: address(failed.id, failed.trigger_timestamp), key: "failed", id: "failed-checkpoint" },
    el("strong", {}, `Checkpoint #${failed.id} failed ${age(failed.failure_timestamp, context.job().now)}: `),
    who,
    isOver ? ` Checkpoint #${completed.id} has completed since.` : "",
    " ",
    el("span", { class: "go" }, "Show who and why →"),
  );
}

function aboutOffsets(offsets) {
  if (!offsets) return [];
  const partitions = offsets.partitions ?? [];
  const drifting = partitions.filter((each) => each.drift);
  const lost = partitions.filter((each) => each.standing === "UNRESTORABLE");
  const left = offsets["left-ms"];
  return [
    lost.length
      ? el("a", { class: "notice bad", href: "#/offsets", key: "lost" }, `The newest checkpoint can no longer be restored: the records of ${count(lost.length, "partition")} are gone.`)
      : null,
    !lost.length && typeof left === "number" && left < RETENTION_SOON_MS
      ? el("a", { class: "notice warn", href: "#/offsets", key: "retention" }, `Retention makes the newest checkpoint unrestorable in ${duration(left)}.`)
      : null,
    drifting.length
      ? el("a", { class: "notice warn", href: "#/offsets", key: "drift" }, `The group's offsets differ from the checkpoint in ${count(drifting.length, "partition")}, by up to ${number(Math.max(...drifting.map((each) => Math.abs(each.drift))))}.`)
      : null,
  ];
}
