/** A table that scrolls inside itself on a narrow screen, and says so where it is empty. */

import { el } from "./dom.js";

/**
 * @template Row
 * @typedef {Object} Column
 * @property {string} title
 * @property {(row: Row) => import("./dom.js").Child|import("./dom.js").Child[]} value
 * @property {boolean} [numeric] aligned at the right, in figures of one width
 * @property {boolean} [wide] may wrap over several lines
 */

/**
 * @template Row
 * @param {Object} options
 * @param {string} options.caption what the table holds, for those who hear it
 * @param {Column<Row>[]} options.columns
 * @param {Row[]} options.rows
 * @param {(row: Row) => string|number} [options.key] names a row, so that what is open or focused in it stays
 * @param {(row: Row) => string|null} [options.kind] a class of the row, such as "bad"
 * @param {string} [options.empty] what is said where there are no rows
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
