/** Charts: throughput, lag, and the duration and size of checkpoints. */

import { el, render } from "../lib/dom.js";
import { get } from "../lib/rest.js";
import { timeChart } from "../lib/chart.js";
import { bytes, count, duration, number, rate } from "../lib/format.js";

const KEPT_MS = 30 * 60 * 1000;
const CHECKPOINTS = 300;
/** More bars would be indistinguishable. */
const BARS = 60;
const PACE = { checkpoints: 3, milliseconds: 10_000 };

/** @type {import("../pages.js").Page} */
export const metrics = {
  path: "metrics",
  title: "Metrics",
  mount(root, context) {
    const charts = {
      throughput: timeChart({ label: "Rows and records per second", format: rate }),
      lag: timeChart({ label: "Lag per partition", format: number }),
      duration: timeChart({ label: "Duration of checkpoints", format: duration, type: "bar" }),
      size: timeChart({ label: "Size of checkpoints", format: bytes }),
    };
    const known = { samples: [], checkpoints: [] };

    return {
      async update() {
        const newest = Math.max(known.samples.at(-1)?.at ?? 0, known.checkpoints.at(-1)?.at ?? 0);
        // A checkpoint that ended at the same time as the newest may be missing in the last response.
        const news = await get(`milepost/jobs/${context.job().id}/series?since=${Math.max(newest - 5000, 0)}`);
        known.samples = added(known.samples, news.samples, (each) => each.at).filter((each) => each.at > news.now - KEPT_MS);
        known.checkpoints = added(known.checkpoints, news.checkpoints, (each) => `${each.id}-${each.at}`).slice(-CHECKPOINTS);
        render(root, ...cards(charts, known));
        await draw(charts, known);
      },
      unmount() {
        for (const chart of Object.values(charts)) chart.end();
      },
    };
  },
};

function added(before, news, key) {
  const found = new Map(before.map((each) => [key(each), each]));
  for (const each of news) found.set(key(each), each);
  return [...found.values()].sort((one, other) => one.at - other.at);
}

function cards(charts, { samples, checkpoints }) {
  const newest = samples.at(-1);
  const completed = checkpoints.filter((each) => each.status === "COMPLETED");
  const last = completed.at(-1);
  return [
    el(
      "section",
      { class: "card" },
      el("h2", {}, newest ? "Now" : "At the last checkpoint"),
      newest || last
        ? el("dl", { class: "numbers" }, figures(newest, last))
        : el("p", { class: "empty" }, "No samples yet; the first one appears within seconds."),
    ),
    el(
      "div",
      { class: "columns pairs" },
      card("Throughput", newest ? "rows written and records read per second" : "rows written per second, averaged over neighbouring checkpoints", charts.throughput, "throughput"),
      card("Lag per partition", newest ? "offsets behind the end of the log" : "measured only while the job runs", charts.lag, "lag"),
      card("Checkpoint duration", "from trigger to completion", charts.duration, "duration"),
      card("Checkpoint size", "state before compression, and bytes written by the writers", charts.size, "size"),
    ),
  ];
}

function figures(newest, last) {
  const figure = (name, value, note, kind) => el("div", { class: kind ?? null }, el("dt", {}, name), el("dd", {}, value, note ? el("small", {}, note) : null));
  return [
    newest && figure("Rows", rate(newest["rows-per-second"]), `${count(newest.rows, "row")} in total`),
    newest && figure("Records in", rate(newest["records-per-second"])),
    newest && figure("Lag", number(newest.lag), newest.lag === null ? "the broker does not respond" : null),
    newest && figure("Rejected", number(newest.rejected), null, newest.rejected ? "warn" : null),
    last && figure("Last checkpoint", duration(last["duration-ms"]), `checkpoint ${last.id}`),
    last && figure("State", bytes(last["state-bytes"])),
  ].filter(Boolean);
}

function card(title, note, chart, name) {
  return el("section", { class: "card", "data-chart": name }, el("h2", {}, title), el("p", { class: "faint" }, note), chart.node);
}

async function draw(charts, { samples, checkpoints }) {
  const points = (value) => samples.map((each) => ({ x: each.at, y: value(each) }));
  const completed = checkpoints.filter((each) => each.status === "COMPLETED");
  const marks = (value) => completed.map((each) => ({ x: each.at, y: value(each) }));
  await charts.throughput.show(
    samples.length
      ? [
          { name: "rows written", points: points((each) => each["rows-per-second"]) },
          { name: "records read", points: points((each) => each["records-per-second"]) },
        ]
      : [{ name: "rows written", points: pace(completed) }],
  );
  const names = [...new Set(samples.flatMap((each) => Object.keys(each.lags)))].sort(byNumber);
  await charts.lag.show(names.map((name) => ({ name, points: points((each) => each.lags[name] ?? null) })), samples.length ? undefined : "Lag was not measured.");
  await charts.duration.show([{ name: "duration", points: marks((each) => each["duration-ms"]).slice(-BARS) }]);
  await charts.size.show([
    { name: "state", points: marks((each) => each["state-bytes"]) },
    { name: "written", points: marks((each) => each["written-bytes"]) },
  ]);
}

/**
 * Rows per second from completed checkpoints, for a job that has ended. Averaged over several checkpoints, because Spark
 * inserts checkpoints without rows.
 */
export function pace(completed) {
  const begins = completed.map((each, index) => completed[index - 1]?.at ?? each.at - each["duration-ms"]);
  const points = completed.map((each, index) => {
    let [first, rows] = [index, each.rows];
    while (first > 0 && (index - first < PACE.checkpoints - 1 || each.at - begins[first] < PACE.milliseconds)) {
      first -= 1;
      rows += completed[first].rows;
    }
    const passed = each.at - begins[first];
    return { x: each.at, y: passed > 0 ? (rows * 1000) / passed : null };
  });
  // The first points have no preceding checkpoints; they are dropped unless there are few points in total.
  return points.length > 2 * PACE.checkpoints ? points.slice(PACE.checkpoints) : points;
}

function byNumber(one, other) {
  return one.localeCompare(other, "en", { numeric: true });
}
