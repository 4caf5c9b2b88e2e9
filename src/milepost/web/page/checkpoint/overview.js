/** The number of checkpoints, and the latest of each kind. */

import { el } from "../../lib/dom.js";
import { facts } from "../../lib/table.js";
import { badge } from "../../lib/badge.js";
import { age, bytes, duration, number } from "../../lib/format.js";
import { stamp } from "../../lib/moment.js";
import { get } from "../../lib/rest.js";
import { address } from "./address.js";

/** @param {import("../../pages.js").Context} context */
export async function overviewTab(context) {
  const { id, now } = context.job();
  const { counts, latest } = await get(`jobs/${id}/checkpoints`);
  return el(
    "div",
    { class: "stack" },
    el(
      "dl",
      { class: "numbers" },
      ["completed", "failed", "in_progress", "restored", "total"].map((name) =>
        el("div", { class: name === "failed" && counts.failed ? "bad" : null }, el("dt", {}, TITLES[name]), el("dd", {}, number(counts[name]))),
      ),
    ),
    el(
      "div",
      { class: "columns two" },
      latestCard("Latest completed", latest.completed, now, "No checkpoint has completed yet."),
      latestCard("Latest failed", latest.failed, now, "No checkpoint has failed."),
      latestCard("Latest savepoint", latest.savepoint, now, "No savepoint has been taken in this run."),
      restoredCard(latest.restored, now),
    ),
  );
}

const TITLES = { completed: "Completed", failed: "Failed", in_progress: "In progress", restored: "Restored", total: "Triggered" };

function latestCard(title, checkpoint, now, empty) {
  if (!checkpoint) return card(title, el("p", { class: "empty" }, empty));
  const ended = checkpoint.failure_timestamp ?? checkpoint.latest_ack_timestamp;
  return card(
    title,
    facts([
      ["Checkpoint", el("a", { href: address(checkpoint.id, checkpoint.trigger_timestamp) }, `#${checkpoint.id}`, " ", badge(checkpoint.status))],
      ["Triggered", [stamp(checkpoint.trigger_timestamp), ` (${age(checkpoint.trigger_timestamp, now)})`]],
      [checkpoint.failure_timestamp ? "Failed at" : "Last acknowledgement", stamp(ended)],
      ["Duration", duration(checkpoint.end_to_end_duration)],
      ...(checkpoint.failure_timestamp ? [] : [["State", bytes(checkpoint.state_size)]]),
      ["Acknowledged", `${number(checkpoint.num_acknowledged_subtasks)} of ${number(checkpoint.num_subtasks)}`],
      ...(checkpoint.failure_message ? [["Why", checkpoint.failure_message]] : []),
      ...(checkpoint.external_path ? [["Path", el("code", {}, checkpoint.external_path)]] : []),
    ]),
  );
}

function restoredCard(restored, now) {
  if (!restored) return card("Latest restored", el("p", { class: "empty" }, "This run started without a checkpoint."));
  return card(
    "Latest restored",
    facts([
      ["Checkpoint", `#${restored.id}${restored.is_savepoint ? " (savepoint)" : ""}`],
      ["Restored", [stamp(restored.restore_timestamp), ` (${age(restored.restore_timestamp, now)})`]],
      ["Path", el("code", {}, restored.external_path)],
    ]),
  );
}

function card(title, inside) {
  return el("section", { class: "inner" }, el("h3", {}, title), inside);
}
