/** The states of a job across restarts and drivers: a strip, and a table of the newest ones. */

import { el, svg } from "./dom.js";
import { badge } from "./badge.js";
import { table } from "./table.js";
import { clockTime, duration, time } from "./format.js";
import { stamp } from "./moment.js";

const SHOWN = 40;
const LISTED = 8;
const WIDTH = 1000;
const HEIGHT = 18;
const LEAST = 4;
const KINDS = { RUNNING: "good", RESTARTING: "warn", CANCELLING: "warn", FAILED: "bad" };

/**
 * @param {{now: number, states: {state: string, from: number, to: number|null, reason: string, lost: boolean}[]}} data
 * @returns {HTMLElement}
 */
export function timeline(data) {
  const states = data.states.slice(-SHOWN);
  if (states.length === 0) return el("p", { class: "empty" }, "No states yet.");
  const begin = states[0].from;
  const last = states[states.length - 1];
  const end = Math.max(last.to ?? data.now, begin + 1);
  return el(
    "div",
    { class: "states" },
    strip(states, begin, end),
    el("p", { class: "row faint" }, stamp(begin), el("span", { class: "end" }, last.to === null ? `now, ${clockTime(data.now)}` : stamp(end))),
    list(states, data.now),
  );
}

function strip(states, begin, end) {
  const place = (moment) => ((moment - begin) / (end - begin)) * WIDTH;
  const bars = states.map((each) => {
    const to = each.to ?? end;
    const width = Math.max(place(to) - place(each.from), LEAST);
    const x = Math.min(place(each.from), WIDTH - width);
    return svg("rect", { class: KINDS[each.state] ?? "calm", x: x.toFixed(1), y: 0, width: width.toFixed(1), height: HEIGHT }, svg("title", {}, sentence(each, end)));
  });
  const label = `${states.length} states from ${time(begin)} to ${time(end)}`;
  return svg(
    "svg",
    { class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("rect", { class: "gap", x: 0, y: 0, width: WIDTH, height: HEIGHT }),
    bars,
  );
}

function sentence(each, now) {
  const lasted = duration((each.to ?? now) - each.from);
  const words = `${each.state} from ${time(each.from)}, ${lasted}`;
  return `${words}${each.lost ? "; then the driver was lost" : ""}${each.reason ? `: ${each.reason}` : ""}`;
}

function list(states, now) {
  return table({
    caption: "Newest states",
    rows: states.slice(-LISTED).reverse(),
    key: (row) => `${row.from}-${row.state}`,
    columns: [
      { title: "State", value: (row) => badge(row.state) },
      { title: "Since", value: (row) => stamp(row.from) },
      { title: "Lasted", numeric: true, value: (row) => lasted(row, now) },
      { title: "Why", wide: true, value: (row) => why(row) },
    ],
  });
}

function lasted(row, now) {
  if (row.to === row.from) return "";
  return duration((row.to ?? now) - row.from);
}

function why(row) {
  if (row.lost) return el("span", { class: "lost" }, `The driver ended without reporting a status; last event at ${time(row.to)}.`);
  return row.reason;
}
