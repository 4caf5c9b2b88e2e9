/** Formats numbers, sizes and times; an unknown value is a dash. */

export const NOTHING = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** @param {number|null|undefined} value */
export function number(value) {
  return isKnown(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : NOTHING;
}

/** @param {number|null|undefined} value per second */
export function rate(value) {
  if (!isKnown(value)) return NOTHING;
  return `${value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 })}/s`;
}

/** @param {number|null|undefined} value */
export function bytes(value) {
  if (!isKnown(value) || value < 0) return NOTHING;
  const power = Math.min(Math.floor(Math.log2(Math.max(value, 1)) / 10), UNITS.length - 1);
  const scaled = value / 1024 ** power;
  return `${scaled.toFixed(power === 0 || scaled >= 100 ? 0 : 1)} ${UNITS[power]}`;
}

/** @param {number|null|undefined} milliseconds */
export function duration(milliseconds) {
  if (!isKnown(milliseconds) || milliseconds < 0) return NOTHING;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 1)} s`;
  const seconds = Math.floor(milliseconds / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}

/**
 * A time in the time zone of the browser.
 *
 * @param {number|string|null|undefined} moment milliseconds since the epoch, or ISO 8601
 */
export function time(moment) {
  const date = asDate(moment);
  return date ? `${day(date)} ${clock(date)}` : NOTHING;
}

/** @param {number|string|null|undefined} moment in UTC, as ISO 8601 */
export function utc(moment) {
  return asDate(moment)?.toISOString() ?? NOTHING;
}

/** @param {number|string|null|undefined} moment the time of day alone */
export function clockTime(moment) {
  const date = asDate(moment);
  return date ? clock(date) : NOTHING;
}

/**
 * @param {number|string|null|undefined} moment
 * @param {number} now milliseconds since the epoch
 */
export function age(moment, now) {
  const date = asDate(moment);
  if (!date) return NOTHING;
  const passed = Math.max(now - date.getTime(), 0);
  return passed < 1000 ? "just now" : `${duration(Math.floor(passed / 1000) * 1000).replace(/\.0+ s/, " s")} ago`;
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function count(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/**
 * The number of acknowledgements: n of m, if m is known.
 *
 * @param {number} received
 * @param {number|null|undefined} all null until the batch of a checkpoint has its tasks
 */
export function acknowledged(received, all) {
  return isKnown(all) ? `${number(received)} of ${number(all)}` : `${number(received)} so far`;
}

/** @param {any} value */
export function isKnown(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function asDate(moment) {
  if (moment === null || moment === undefined || moment === "" || moment === -1 || moment === 0) return null;
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? null : date;
}

function day(date) {
  return [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
}

function clock(date) {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

function two(value) {
  return String(value).padStart(2, "0");
}
