/** The state of the job that every page uses. */

import { get } from "./rest.js";

/** @returns {Promise<import("../pages.js").Snapshot>} */
export async function snapshot() {
  const [overview, abilities] = await Promise.all([get("jobs/overview"), get("milepost/abilities")]);
  const job = overview.jobs[0];
  return {
    id: job.jid,
    name: job.name,
    state: job.state,
    start: job["start-time"],
    end: job["end-time"],
    now: job["end-time"] === -1 ? job["start-time"] + job.duration : Date.now(),
    abilities,
  };
}

/** @param {string} state returns whether a job in this state has ended */
export function isOver(state) {
  return ["FINISHED", "FAILED", "CANCELED"].includes(state);
}
