/** Builds elements, and updates a part of the page without losing focus, scroll position or open details. */

const HANDLERS = Symbol("handlers");
const OWN = Symbol("own");

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * Build an element. Every child that is not a node becomes a text node: nothing is parsed as HTML.
 *
 * Names that begin with "on" are handlers, `key` identifies an element among its siblings, `own` makes `render` leave
 * the content of the element alone, and every other name is an attribute; false and null omit it.
 *
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Child|Child[])} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Build an SVG element; otherwise like `el`.
 *
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...(Child|Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * Replace the children of an element; existing elements are kept and updated.
 *
 * @param {Element} root
 * @param {...(Child|Child[])} children
 */
export function render(root, ...children) {
  const wanted = children.flat(Infinity).filter(isShown).map(asNode);
  morphChildren(root, wanted);
}

function fill(node, attributes, children) {
  node[HANDLERS] = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node[HANDLERS][name.toLowerCase()] = node[name.toLowerCase()] = value;
    else if (name === "own") node[OWN] = true;
    else if (name === "key") node.dataset.key = String(value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter(isShown).map(asNode));
  return node;
}

function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

function morphChildren(root, wanted) {
  const keyed = new Map();
  for (const child of root.childNodes) if (child.dataset?.key !== undefined) keyed.set(child.dataset.key, child);
  let place = root.firstChild;
  for (const next of wanted) {
    const key = next.dataset?.key;
    const known = key === undefined ? place : keyed.get(key);
    if (known && isAlike(known, next)) {
      if (known !== place) root.insertBefore(known, place);
      else place = place.nextSibling;
      morph(known, next);
    } else {
      root.insertBefore(next, place);
    }
  }
  while (place) {
    const after = place.nextSibling;
    place.remove();
    place = after;
  }
}

function isAlike(known, next) {
  return known.nodeType === next.nodeType && known.nodeName === next.nodeName && known.dataset?.key === next.dataset?.key;
}

function morph(known, next) {
  if (known === next) return;
  if (known.nodeType === Node.TEXT_NODE) {
    if (known.data !== next.data) known.data = next.data;
    return;
  }
  for (const { name } of [...known.attributes]) {
    if (!next.hasAttribute(name) && !isUsers(known, name)) known.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (known.getAttribute(name) !== value && !isUsers(known, name)) known.setAttribute(name, value);
  }
  for (const name of Object.keys(known[HANDLERS] ?? {})) known[name] = null;
  Object.assign(known, next[HANDLERS]);
  known[HANDLERS] = next[HANDLERS];
  if (!known[OWN]) morphChildren(known, [...next.childNodes]);
}

/** Details that the user has opened stay open, and overflowing elements stay marked. */
function isUsers(node, name) {
  if (name === "data-more") return true;
  return name === "open" && (node.nodeName === "DETAILS" || node.nodeName === "DIALOG");
}
