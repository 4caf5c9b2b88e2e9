/** The duration and state size of the checkpoints of this run. */

import { table } from "../../lib/table.js";
import { bytes, duration, NOTHING } from "../../lib/format.js";
import { get } from "../../lib/rest.js";

const MEASURES = [
  { name: "end_to_end_duration", title: "End-to-end duration", format: duration },
  { name: "checkpointed_size", title: "Checkpointed size", format: bytes },
  { name: "state_size", title: "Full state size", format: bytes },
];
const COLUMNS = [
  ["min", "Minimum"],
  ["avg", "Average"],
  ["max", "Maximum"],
  ["p50", "p50"],
  ["p90", "p90"],
  ["p95", "p95"],
  ["p99", "p99"],
  ["p999", "p99.9"],
];

/** @param {import("../../pages.js").Context} context */
export async function summaryTab(context) {
  const { counts, summary } = await get(`jobs/${context.job().id}/checkpoints`);
  const value = (measure, key) => (typeof summary[measure.name][key] === "number" ? measure.format(summary[measure.name][key]) : NOTHING);
  return table({
    caption: "Summary of the completed checkpoints of this run",
    columns: [
      { title: "Completed checkpoints", value: (measure) => measure.title },
      ...COLUMNS.map(([key, title]) => ({ title, numeric: true, value: (measure) => value(measure, key) })),
    ],
    rows: counts.completed ? MEASURES : [],
    empty: "No checkpoint has completed yet.",
  });
}
