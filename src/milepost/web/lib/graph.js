/** The pipeline as a graph: boxes from left to right, each with its current throughput. */

import { el, svg } from "./dom.js";
import { count, isKnown, number, rate } from "./format.js";

const BOX = { width: 200, top: 22, bottom: 13 };
const LINE = { name: 17, detail: 16, flow: 20 };
const GAP = { across: 40, down: 16 };
const EDGE = 1;
const LONGEST = { name: 21, detail: 27 };
const MOST_LINES = { name: 2, detail: 3 };

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
  const texts = new Map(data.nodes.map((node) => [node.id, words(node)]));
  const tallest = Math.max(...[...texts.values()].map((text) => text.height));
  const places = layout(data, tallest);
  const columns = Math.max(...[...places.values()].map((place) => place.column)) + 1;
  const rows = Math.max(...[...places.values()].map((place) => place.row)) + 1;
  const width = columns * (BOX.width + GAP.across) - GAP.across + 2 * EDGE;
  const height = rows * (tallest + GAP.down) - GAP.down + 2 * EDGE;
  const scrolled = el(
    "div",
    { class: "graph", role: "region", "aria-label": "Pipeline", tabindex: "0" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, width, height },
      data.edges.map((edge) => line(places.get(edge.from), places.get(edge.to), tallest)),
      data.nodes.map((node) => box(node, texts.get(node.id), places.get(node.id), tallest)),
    ),
  );
  return el("div", { class: "scrolled" }, scrolled, el("p", { class: "hint" }, "Scroll sideways to see the whole pipeline."));
}

/** The lines of a box, each with its distance from the top, and the height of the box. */
function words(node) {
  const lines = [];
  let dy = BOX.top;
  for (const kind of ["name", "detail"]) {
    for (const text of wrap(node[kind], LONGEST[kind], MOST_LINES[kind])) {
      lines.push({ kind, text, dy });
      dy += LINE[kind];
    }
  }
  dy += LINE.flow - LINE.detail;
  return { lines, height: dy + BOX.bottom };
}

/** Wrap a text into at most `most` lines of `longest` letters; an ellipsis marks the rest, which is in the title. */
function wrap(text, longest, most) {
  const lines = [];
  for (const word of text.split(" ").flatMap((each) => each.match(new RegExp(`.{1,${longest}}`, "g")) ?? [])) {
    const last = lines.at(-1);
    if (last !== undefined && `${last} ${word}`.length <= longest) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  if (lines.length <= most) return lines;
  const end = lines[most - 1];
  return [...lines.slice(0, most - 1), `${end.length < longest ? end : end.slice(0, longest - 1)}…`];
}

/** The column of a node is its longest path from a source; its row is the first free one. */
function layout({ nodes, edges }, tallest) {
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
    places.set(node.id, { column: at, row, x: EDGE + at * (BOX.width + GAP.across), y: EDGE + row * (tallest + GAP.down) });
  }
  return places;
}

function line(from, to, tallest) {
  const [x1, y1, x2, y2] = [from.x + BOX.width, from.y + tallest / 2, to.x, to.y + tallest / 2];
  const middle = (x1 + x2) / 2;
  return svg(
    "g",
    { class: "edge" },
    svg("path", { d: `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2 - 6} ${y2}` }),
    svg("path", { class: "arrow", d: `M ${x2} ${y2} l -7 -4 v 8 z` }),
  );
}

function box(node, { lines }, { x, y }, height) {
  const text = (className, dy, words) => svg("text", { class: className, x: x + 12, y: y + dy }, words);
  return svg(
    "g",
    { class: `node ${node.kind}`, key: node.id },
    svg("title", {}, [node.name, node.detail, flow(node)].filter(Boolean).join("\n")),
    svg("rect", { x, y, width: BOX.width, height, rx: 6 }),
    svg("rect", { class: "edge-mark", x, y, width: 4, height, rx: 2 }),
    lines.map((each) => text(each.kind, each.dy, each.text)),
    text("flow", height - BOX.bottom, flow(node)),
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
