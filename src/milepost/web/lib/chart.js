/** Charts with Chart.js, which the job itself serves; loaded when the first chart is drawn. */

import { el } from "./dom.js";
import { onTheme } from "./theme.js";
import { clockTime } from "./format.js";
import { zone } from "./moment.js";

const BAR = { widest: 18, shortest: 2, share: 0.8 };

/** @type {Promise<any>|null} */
let library = null;

/**
 * @typedef {Object} Series
 * @property {string} name
 * @property {{x: number, y: number|null}[]} points x in milliseconds since the epoch; bars are side by side in this order
 */

/**
 * A chart of numbers over time: `node` goes into the page, `show` is called with every refresh.
 *
 * @param {Object} options
 * @param {string} options.label the description for screen readers
 * @param {(value: number) => string} options.format formats a value
 * @param {"line"|"bar"} [options.type]
 * @param {boolean} [options.stacked]
 * @returns {{node: HTMLElement, show: (series: Series[], empty?: string) => Promise<void>, end: () => void}}
 */
export function timeChart({ label, format, type = "line", stacked = false }) {
  const canvas = el("canvas", { role: "img", "aria-label": label });
  const note = el("p", { class: "empty", hidden: true });
  const node = el("div", { class: "chart", own: true }, canvas, note);
  let chart = null;
  let shown = [];

  function recolour() {
    if (!chart) return;
    colour(chart, shown);
    chart.update("none");
  }

  const forget = onTheme(recolour);

  return {
    node,
    async show(series, empty = "No data yet.") {
      shown = series;
      const points = series.reduce((sum, each) => sum + each.points.length, 0);
      note.hidden = points > 0;
      canvas.hidden = points === 0;
      note.textContent = empty;
      if (points === 0) return;
      try {
        const Chart = await chartLibrary();
        chart ??= new Chart(canvas, settings({ format, type, stacked }));
      } catch (error) {
        note.hidden = false;
        canvas.hidden = true;
        note.textContent = error.message;
        return;
      }
      chart.data.labels = series[0].points.map((point) => point.x);
      chart.data.datasets = series.map((each, index) => ({
        ...(chart.data.datasets[index] ?? {}),
        label: each.name,
        data: type === "bar" ? each.points.map((point, place) => ({ x: place, y: point.y })) : each.points,
      }));
      recolour();
    },
    end() {
      forget();
      chart?.destroy();
    },
  };
}

function chartLibrary() {
  library ??= new Promise((resolve, reject) => {
    const script = el("script", { src: new URL("../vendor/chart.js", import.meta.url).href });
    script.addEventListener("load", () => resolve(globalThis.Chart));
    script.addEventListener("error", () => {
      library = null;
      reject(new Error("This installation does not contain the chart library; run `make jars`."));
    });
    document.head.append(script);
  });
  return library;
}

function settings({ format, type, stacked }) {
  const isBar = type === "bar";
  const moment = (item) => (isBar ? item.chart.data.labels[item.dataIndex] : item.parsed.x);
  const ticks = { maxTicksLimit: 6, maxRotation: 0 };
  // Bars are side by side: on a time axis, the two closest ones would determine the width of all.
  const across = isBar
    ? { type: "category", grid: { display: false }, ticks: { ...ticks, callback(index) { return clockTime(this.getLabelForValue(index)); } } }
    : { type: "linear", bounds: "data", grid: {}, ticks: { ...ticks, callback: (x) => clockTime(x) } };
  const value = (item) => (item.parsed.y === null ? "" : `${item.dataset.label}: ${format(item.parsed.y)}`);
  return {
    type,
    data: { datasets: [] },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      parsing: false,
      normalized: true,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      elements: { point: { radius: 0, hitRadius: 8 }, line: { borderWidth: 1.5 }, bar: { borderWidth: 0 } },
      datasets: { bar: { categoryPercentage: 1, barPercentage: BAR.share, maxBarThickness: BAR.widest, minBarLength: BAR.shortest } },
      scales: {
        x: across,
        y: { beginAtZero: true, stacked, grid: {}, ticks: { maxTicksLimit: 5, callback: (y) => format(y) } },
      },
      plugins: {
        legend: { display: true, position: "bottom", labels: { boxWidth: 10, boxHeight: 10 } },
        tooltip: { callbacks: { title: ([item]) => (item ? `${clockTime(moment(item))} ${zone()}` : ""), label: value } },
      },
    },
  };
}

function colour(chart, series) {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  chart.data.datasets.forEach((dataset, index) => {
    dataset.borderColor = dataset.backgroundColor = of(`--series-${(index % 6) + 1}`);
  });
  for (const axis of Object.values(chart.options.scales)) {
    axis.ticks.color = of("--faint");
    axis.grid.color = of("--line");
    axis.border = { color: of("--line") };
  }
  chart.options.plugins.legend.display = series.length > 1;
  chart.options.plugins.legend.labels.color = of("--text");
}
