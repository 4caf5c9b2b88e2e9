/** The checkpoint, group and broker offsets of each partition, and how long the checkpoint can be restored. */

import { el, render, svg } from "../lib/dom.js";
import { get } from "../lib/rest.js";
import { table } from "../lib/table.js";
import { badge } from "../lib/badge.js";
import { age, duration, isKnown, number } from "../lib/format.js";

const BAR = { width: 160, height: 14 };

/** @type {import("../pages.js").Page} */
export const offsets = {
  path: "offsets",
  title: "Offsets",
  mount(root, context) {
    return {
      async update() {
        const { id, now } = context.job();
        const [data, progress] = await Promise.all([get(`milepost/jobs/${id}/offsets`), get(`milepost/jobs/${id}/progress`)]);
        render(
          root,
          notices(data),
          el(
            "section",
            { class: "card" },
            el("h2", {}, data.checkpoint === null ? "Offsets" : `Offsets of checkpoint ${data.checkpoint}`),
            el("p", { class: "row" }, verdict(data), el("span", { class: "faint end" }, freshness(data, now))),
            partitions(data),
            el("p", { class: "faint legend" }, "The bar shows the range from earliest to latest: ", mark("checkpoint"), " checkpoint, ", mark("group"), " group."),
          ),
          el("section", { class: "card" }, el("h2", {}, "Late records"), lateRecords(progress.late)),
        );
      },
    };
  },
};

function notices({ error, partitions: rows }) {
  const lost = rows.filter((row) => row.standing === "UNRESTORABLE");
  const ahead = rows.filter((row) => (row.drift ?? 0) > 0);
  const stale = rows.filter((row) => row.stale?.group);
  return [
    error && el("p", { class: "notice warn", role: "alert" }, error),
    lost.length > 0 &&
      el("p", { class: "notice bad", role: "alert" }, `The checkpoint cannot be restored: ${lost.map((row) => `${row.topic}-${row.partition}: ${row.note || "its next records are gone"}`).join("; ")}.`),
    ahead.length > 0 &&
      el("p", { class: "notice warn drift", role: "alert" }, `The group is ahead of the checkpoint in ${ahead.map((row) => `${row.topic}-${row.partition}`).join(", ")}: another consumer commits to it.`),
    stale.length > 0 &&
      el("p", { class: "notice warn", role: "alert" }, `The group's offset belongs to a deleted topic of the same name in ${stale.map((row) => `${row.topic}-${row.partition}`).join(", ")}: a start from group offsets does not use it.`),
  ];
}

function verdict(data) {
  if (data.restorable === null) return badge("missing", "Unknown");
  if (!data.restorable) return badge("FAILED", "Unrestorable");
  if (data["left-ms"] === null) return badge("ok", "Restorable without a time limit");
  return el("span", {}, badge("ok", "Restorable"), ` for at least ${duration(data["left-ms"])}`);
}

function freshness(data, now) {
  const text = data["asked-at"] === null ? "Kafka has not responded yet" : `queried from Kafka ${age(data["asked-at"], data["asked-at"] + data["age-ms"])}`;
  return data.asking && data["asked-at"] === null ? "querying Kafka …" : text;
}

function partitions(data) {
  return table({
    caption: "Offsets per partition",
    rows: data.partitions,
    key: (row) => `${row.topic}-${row.partition}`,
    kind: (row) => (row.standing === "UNRESTORABLE" ? "bad" : null),
    empty: "There is no completed checkpoint yet.",
    columns: [
      { title: "Topic", value: (row) => row.topic },
      { title: "Partition", numeric: true, value: (row) => row.partition },
      { title: "Earliest", numeric: true, value: (row) => number(row.earliest) },
      { title: "Position", value: bar },
      { title: "Latest", numeric: true, value: (row) => number(row.latest) },
      { title: "Checkpoint", numeric: true, value: (row) => number(row.checkpoint) },
      { title: "Lag", numeric: true, value: (row) => number(row.lag) },
      { title: "Group", numeric: true, value: (row) => number(row.group) },
      { title: "Drift", numeric: true, value: (row) => el("span", { class: (row.drift ?? 0) > 0 ? "alarm" : null }, number(row.drift)) },
      { title: "Restorable", wide: true, value: restorable },
    ],
  });
}

function lateRecords(sources) {
  return table({
    caption: "Late records per source",
    rows: Object.entries(sources),
    key: ([view]) => view,
    kind: ([, count]) => (count ? "warn" : null),
    columns: [
      { title: "Source", wide: true, value: ([view]) => view },
      { title: "Dropped behind the watermark", numeric: true, value: ([, count]) => number(count) },
    ],
  });
}

function bar(row) {
  const { earliest, latest, checkpoint, group } = row;
  if (!isKnown(earliest) || !isKnown(latest)) return "";
  const span = Math.max(latest - earliest, 1);
  const place = (offset) => Math.min(Math.max(((offset - earliest) / span) * BAR.width, 0), BAR.width);
  const at = isKnown(checkpoint) ? place(checkpoint) : null;
  const label = `checkpoint ${number(checkpoint)} between ${number(earliest)} and ${number(latest)}`;
  return svg(
    "svg",
    { class: "where", viewBox: `-3 0 ${BAR.width + 6} ${BAR.height}`, width: BAR.width + 6, height: BAR.height, role: "img", "aria-label": label },
    svg("title", {}, label),
    svg("rect", { class: "log", x: 0, y: 5, width: BAR.width, height: 4, rx: 2 }),
    at !== null && svg("rect", { class: "read", x: 0, y: 5, width: at.toFixed(1), height: 4, rx: 2 }),
    isKnown(group) && svg("path", { class: "group", d: `M ${place(group).toFixed(1)} 10 l -3 4 h 6 z` }),
    at !== null && svg("rect", { class: "checkpoint", x: (at - 1.5).toFixed(1), y: 1, width: 3, height: 9, rx: 1 }),
  );
}

function mark(kind) {
  const drawing = kind === "group" ? svg("path", { class: "group", d: "M 6 3 l -4 6 h 8 z" }) : svg("rect", { class: "checkpoint", x: 4, y: 1, width: 3, height: 10, rx: 1 });
  return svg("svg", { class: "where", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }, drawing);
}

function restorable(row) {
  if (row.standing === "UNKNOWN") return "–";
  if (row.standing === "UNRESTORABLE") return `no: ${row.note || "its next records are gone"}`;
  const left = row["left-ms"] === null ? "no time limit" : `${duration(row["left-ms"])} more`;
  const standing = row.standing === "CAUGHT_UP" ? "caught up, " : "";
  return [`${standing}${left}`, row.note].filter(Boolean).join("; ");
}
