/** The savepoints of the job, and dry runs of restores. */

import { el, render } from "../lib/dom.js";
import { get } from "../lib/rest.js";
import { table } from "../lib/table.js";
import { badge } from "../lib/badge.js";
import { toast } from "../lib/toast.js";
import { bytes, count, duration, number, time } from "../lib/format.js";
import { stamp } from "../lib/moment.js";

const PAUSE_MS = 500;

/** @type {import("../pages.js").Page} */
export const savepoints = {
  path: "savepoints",
  title: "Savepoints",
  mount(root, context) {
    let checking = null;

    async function check(name) {
      if (checking) return;
      checking = name;
      location.hash = `#/savepoints/${encodeURIComponent(name)}`;
      try {
        for (;;) {
          const done = await get(`milepost/jobs/${context.job().id}/savepoints/${encodeURIComponent(name)}/check`);
          if (done.status === "COMPLETED") break;
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      } catch (error) {
        toast("bad", "The savepoint was not checked", error.message);
      } finally {
        checking = null;
        await context.refresh();
      }
    }

    return {
      async update() {
        const data = await get(`milepost/jobs/${context.job().id}/savepoints`);
        const chosen = data.savepoints.find((each) => each.name === context.params()[0]);
        render(root, list(data, { check, checking }), chosen && result(chosen, checking));
      },
    };
  },
};

function list(data, actions) {
  return el(
    "section",
    { class: "card" },
    el("h2", {}, "Savepoints"),
    el("p", { class: "faint" }, data.directory === null ? "No savepoint directory is configured; set checkpointing.savepoint-dir." : `in ${data.directory}`),
    data.directory !== null &&
      table({
        caption: "Savepoints",
        rows: data.savepoints,
        key: (row) => row.name,
        empty: "No savepoint has been taken yet.",
        columns: [
          { title: "Name", value: (row) => el("a", { class: "mono", href: `#/savepoints/${encodeURIComponent(row.name)}` }, row.name) },
          { title: "Checkpoint", numeric: true, value: (row) => number(row.checkpoint) },
          { title: "Taken", value: (row) => stamp(row["taken-at"]) },
          { title: "Trigger", value: (row) => row.trigger },
          { title: "Size", numeric: true, value: (row) => bytes(row.size) },
          { title: "Files", numeric: true, value: (row) => number(row.files) },
          { title: "Restorable", wide: true, value: (row) => standing(row, actions.checking) },
          { title: "", value: (row) => button(row, actions) },
        ],
      }),
  );
}

function button(row, { check, checking }) {
  return el(
    "button",
    { type: "button", class: "button", "aria-disabled": checking ? "true" : null, title: checking ? "A check is in progress." : "Reads every file and queries Kafka; changes nothing", onclick: () => check(row.name) },
    "Check restore",
  );
}

function standing(row, checking) {
  const check = row.check;
  if (checking === row.name || check?.status === "IN_PROGRESS") return badge("IN_PROGRESS", "checking …");
  if (check?.restorable === true) return badge("ok", `yes, checked ${time(check["ended-at"])}`);
  if (check?.restorable === false) return badge("FAILED", "no");
  if (row.differences.length > 0) return badge("warning", `another job: ${row.differences.join("; ")}`);
  return check ? badge("missing", "Kafka was not queried") : el("span", { class: "faint" }, "not checked");
}

function result(row, checking) {
  const check = row.check;
  const words = [el("h2", {}, `Restore check of ${row.name}`)];
  if (checking === row.name || check?.status === "IN_PROGRESS") words.push(el("p", {}, badge("IN_PROGRESS", "Reading files and querying Kafka …")));
  else if (!check) words.push(el("p", { class: "empty" }, "Not checked since this server started; press “Check restore”."), facts(row));
  else words.push(...findings(row, check));
  return el("section", { class: "card check-result", "aria-live": "polite" }, words);
}

function findings(row, check) {
  const verdict = check.restorable === true ? badge("ok", "Can be restored") : check.restorable === false ? badge("FAILED", "Cannot be restored") : badge("missing", "Files and job match; Kafka was not queried");
  const about = check.seconds === null ? "" : `, about ${duration(check.seconds * 1000)} at the rate of its checkpoint`;
  return [
    el("p", {}, verdict, check.replayed === null ? null : ` ${count(check.replayed, "record")} to replay up to the end of the log${about}`),
    check.error && el("p", { class: "notice bad" }, check.error),
    el("ul", { class: "findings" }, check.findings.map((each) => el("li", {}, each))),
    facts(row),
    check.partitions.length > 0 && partitions(check.partitions),
  ];
}

function facts(row) {
  const differences = row.differences.map((each) => el("li", {}, `Different: ${each}`));
  return differences.length > 0 && row.check === null ? el("ul", { class: "findings" }, differences) : null;
}

function partitions(rows) {
  return table({
    caption: "Partitions of the restore",
    rows,
    key: (row) => `${row.topic}-${row.partition}`,
    kind: (row) => (row.standing === "UNRESTORABLE" ? "bad" : null),
    columns: [
      { title: "Topic", value: (row) => row.topic },
      { title: "Partition", numeric: true, value: (row) => row.partition },
      { title: "Savepoint", numeric: true, value: (row) => number(row.checkpoint) },
      { title: "Earliest", numeric: true, value: (row) => number(row.earliest) },
      { title: "Latest", numeric: true, value: (row) => number(row.latest) },
      { title: "To replay", numeric: true, value: (row) => number(row.lag) },
      { title: "Status", wide: true, value: (row) => row.note || row.standing.toLowerCase().replace("_", " ") },
    ],
  });
}
