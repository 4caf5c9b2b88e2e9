/** The checkpointing configuration. */

import { facts } from "../../lib/table.js";
import { duration, number } from "../../lib/format.js";
import { get } from "../../lib/rest.js";

/** @param {import("../../pages.js").Context} context */
export async function configurationTab(context) {
  const config = await get(`jobs/${context.job().id}/checkpoints/config`);
  return facts([
    ["Mode", config.mode.replaceAll("_", "-")],
    ["Interval", duration(config.interval)],
    ["Timeout", duration(config.timeout)],
    ["Minimum pause", duration(config.min_pause)],
    ["Maximum concurrent", number(config.max_concurrent)],
    ["Tolerable failures", number(config.tolerable_failed_checkpoints)],
    ["Retained on cancellation", config.externalization.delete_on_cancellation ? "no" : "yes"],
    ["State backend", config.state_backend],
    ["Storage", config.checkpoint_storage],
    ["Changelog", config.state_changelog_enabled ? "on" : "off"],
  ]);
}
