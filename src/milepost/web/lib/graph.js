/** The pipeline as a drawing: boxes from left to right, each with what flows through it now. */

import { el, svg } from "./dom.js";
import { count, isKnown, number, rate } from "./format.js";

const BOX = { width: 186, height: 74 };
const GAP = { across: 44, down: 16 };
const EDGE = 1;
const LONGEST = { name: 20, detail: 26 };

/**
 * @typedef {Object} GraphNode
 * @property {string} id
 * @property {string} kind
 * @property {string} name
 * @property {string} detail
 * @property {number|null} parallelism
 * @property {number|null} rate
 * @property {number|null} lag
 * @property {number|null} rows
 */

/**
 * @param {{nodes: GraphNode[], edges: {from: string, to: string}[]}} data
 * @returns {HTMLElement}
 */
export function graph(data) {
  const places = layout(data);
  const columns = Math.max(...[...places.values()].map((place) => place.column)) + 1;
  const rows = Math.max(...[...places.values()].map((place) => place.row)) + 1;
  const width = columns * (BOX.width + GAP.across) - GAP.across + 2 * EDGE;
  const height = rows * (BOX.height + GAP.down) - GAP.down + 2 * EDGE;
  return el(
    "div",
    { class: "graph", role: "region", "aria-label": "Pipeline", tabindex: "0" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, width, height },
      data.edges.map((edge) => line(places.get(edge.from), places.get(edge.to))),
      data.nodes.map((node) => box(node, places.get(node.id))),
    ),
  );
}

/** The column of a node is its longest way from a source; its row is the first free one there. */
function layout({ nodes, edges }) {
  const column = new Map(nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < nodes.length; round += 1) {
    for (const { from, to } of edges) column.set(to, Math.max(column.get(to), column.get(from) + 1));
  }
  const used = new Map();
  const places = new Map();
  for (const node of nodes) {
    const at = column.get(node.id);
    const row = used.get(at) ?? 0;
    used.set(at, row + 1);
    places.set(node.id, { column: at, row, x: EDGE + at * (BOX.width + GAP.across), y: EDGE + row * (BOX.height + GAP.down) });
  }
  return places;
}

function line(from, to) {
  const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return svg(
    "g",
    { class: "edge" },
    svg("path", { d: `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2 - 6} ${y2}` }),
    svg("path", { class: "arrow", d: `M ${x2} ${y2} l -7 -4 v 8 z` }),
  );
}

function box(node, { x, y }) {
  const text = (className, dy, words) => svg("text", { class: className, x: x + 12, y: y + dy }, words);
  return svg(
    "g",
    { class: `node ${node.kind}`, key: node.id },
    svg("title", {}, [node.name, node.detail, flow(node)].filter(Boolean).join("\n")),
    svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6 }),
    svg("rect", { class: "edge-mark", x, y, width: 4, height: BOX.height, rx: 2 }),
    text("name", 22, cut(node.name, LONGEST.name)),
    text("detail", 41, cut(node.detail, LONGEST.detail)),
    text("flow", 61, flow(node)),
  );
}

function flow({ rate: speed, lag, parallelism, rows }) {
  const parts = [
    isKnown(speed) ? rate(speed) : null,
    isKnown(lag) ? `lag ${number(lag)}` : null,
    isKnown(parallelism) ? count(parallelism, "task") : null,
    isKnown(rows) && !isKnown(speed) ? count(rows, "row") : null,
  ];
  return parts.filter(Boolean).join(" · ");
}

function cut(text, longest) {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}
