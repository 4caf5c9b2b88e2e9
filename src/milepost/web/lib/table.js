/** A table that scrolls sideways on a narrow screen, with a text for an empty one. */

import { el } from "./dom.js";

/**
 * @template Row
 * @typedef {Object} Column
 * @property {string} title
 * @property {(row: Row) => import("./dom.js").Child|import("./dom.js").Child[]} value
 * @property {boolean} [numeric] right-aligned, with figures of equal width
 * @property {boolean} [wide] may wrap over several lines
 */

/**
 * @template Row
 * @param {Object} options
 * @param {string} options.caption the description for screen readers
 * @param {Column<Row>[]} options.columns
 * @param {Row[]} options.rows
 * @param {(row: Row) => string|number} [options.key] identifies a row, so that open details and focus are kept
 * @param {(row: Row) => string|null} [options.kind] a class of the row, such as "bad"
 * @param {string} [options.empty] the text if there are no rows
 * @returns {HTMLElement}
 */
export function table({ caption, columns, rows, key, kind, empty = "Nothing yet." }) {
  if (rows.length === 0) return el("p", { class: "empty" }, empty);
  const cells = (row) => columns.map((column) => el("td", { class: classOf(column) }, column.value(row)));
  const scrolled = el(
    "div",
    { class: "table", role: "region", "aria-label": caption, tabindex: "0" },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, columns.map((column) => el("th", { scope: "col", class: classOf(column) }, column.title)))),
      el("tbody", {}, rows.map((row) => el("tr", { key: key?.(row), class: kind?.(row) ?? null }, cells(row)))),
    ),
  );
  return el("div", { class: "scrolled" }, scrolled, el("p", { class: "hint" }, "Scroll sideways to see every column."));
}

/**
 * Names with their values, one below the other.
 *
 * @param {[string, import("./dom.js").Child|import("./dom.js").Child[]][]} pairs
 * @returns {HTMLElement}
 */
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function classOf(column) {
  return [column.numeric && "number", column.wide && "wide"].filter(Boolean).join(" ") || null;
}
