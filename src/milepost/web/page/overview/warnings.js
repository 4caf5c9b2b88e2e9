/** The most urgent warnings; each links to its explanation. */

import { el } from "../../lib/dom.js";
import { age, count, duration, number } from "../../lib/format.js";
import { address } from "../checkpoint/address.js";

const RETENTION_SOON_MS = 6 * 3600 * 1000;

/**
 * @param {import("../../pages.js").Context} context
 * @param {Object} known the responses that the overview has fetched
 * @returns {(HTMLElement|null)[]}
 */
export function warnings(context, { checkpoints, recent, offsets }) {
  return [failedCheckpoint(context, checkpoints, recent), ...aboutOffsets(offsets)];
}

/** The latest failed checkpoint and the participant that failed it; milder if a later one has completed. */
function failedCheckpoint(context, checkpoints, recent) {
  const { failed, completed } = checkpoints.latest;
  if (!failed) return null;
  const listed = recent.find((each) => each.id === failed.id && each["trigger-timestamp"] === failed.trigger_timestamp);
  const names = listed?.["failed-by"] ?? [];
  const isOver = completed && completed.trigger_timestamp > failed.trigger_timestamp;
  const cause = names.length ? `${names.join(", ")} declined it.` : (listed?.sentence ?? failed.failure_message);
  return el(
    "a",
    { class: `notice ${isOver ? "warn" : "bad"}`, href: address(failed.id, failed.trigger_timestamp), key: "failed", id: "failed-checkpoint" },
    el("strong", {}, `Checkpoint #${failed.id} failed ${age(failed.failure_timestamp, context.job().now)}: `),
    cause,
    isOver ? ` Checkpoint #${completed.id} has completed since.` : "",
    " ",
    el("span", { class: "go" }, "Show the cause →"),
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
      ? el("a", { class: "notice bad", href: "#/offsets", key: "lost" }, `The newest checkpoint can no longer be restored: records of ${count(lost.length, "partition")} are lost.`)
      : null,
    !lost.length && typeof left === "number" && left < RETENTION_SOON_MS
      ? el("a", { class: "notice warn", href: "#/offsets", key: "retention" }, `Retention makes the newest checkpoint unrestorable in ${duration(left)}.`)
      : null,
    drifting.length
      ? el("a", { class: "notice warn", href: "#/offsets", key: "drift" }, `The group's offsets differ from the checkpoint in ${count(drifting.length, "partition")}, by up to ${number(Math.max(...drifting.map((each) => Math.abs(each.drift))))}.`)
      : null,
  ];
}
