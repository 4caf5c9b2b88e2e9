/** The first page: the status of the job, and its most urgent warnings. */

import { el, render } from "../lib/dom.js";
import { badge } from "../lib/badge.js";
import { age, number } from "../lib/format.js";
import { stamp } from "../lib/moment.js";
import { find, get } from "../lib/rest.js";
import { graph } from "../lib/graph.js";
import { timeline } from "../lib/timeline.js";
import { keyNumbers } from "./overview/numbers.js";
import { pendingCard } from "./overview/pending.js";
import { warnings } from "./overview/warnings.js";

/** @type {import("../pages.js").Page} */
export const overview = {
  path: "overview",
  title: "Overview",
  mount(root, context) {
    return {
      async update() {
        const { id } = context.job();
        const [progress, checkpoints, { pending }, recent, offsets, series, states, boxes] = await Promise.all([
          get(`milepost/jobs/${id}/progress`),
          get(`jobs/${id}/checkpoints`),
          get(`milepost/jobs/${id}/checkpoints/pending`),
          get(`milepost/jobs/${id}/checkpoints/history?limit=20`),
          find(`milepost/jobs/${id}/offsets`),
          find(`milepost/jobs/${id}/series?since=${context.job().now - 10_000}`),
          get(`milepost/jobs/${id}/timeline`),
          get(`milepost/jobs/${id}/graph`),
        ]);
        const known = { progress, checkpoints, pending, recent: recent.checkpoints, offsets, states, sample: series?.samples?.at(-1) ?? null };
        render(root, warnings(context, known), jobCard(context, progress), keyNumbers(context, known), card("Pipeline", graph(boxes)), pendingCard(context, known), card("States", timeline(states)));
      },
    };
  },
};

function card(title, content) {
  return el("section", { class: "card", key: title }, el("h2", {}, title), content);
}

function jobCard(context, progress) {
  const job = context.job();
  return el(
    "section",
    { class: "card", key: "job" },
    el("div", { class: "row" }, el("h2", {}, job.name), badge(job.state), el("span", { class: "faint" }, "since ", stamp(job.start), ` (${age(job.start, job.now)})`)),
    el("p", { class: "faint tight" }, "Job ", el("span", { class: "mono" }, job.id), ` · ${number(progress.restarts)} ${progress.restarts === 1 ? "restart" : "restarts"}`),
  );
}
