/** A time on the page: in the time zone of the browser, and in UTC as a tooltip. */

import { el } from "./dom.js";
import { NOTHING, time, utc } from "./format.js";

/**
 * @param {number|string|null|undefined} moment milliseconds since the epoch, or ISO 8601
 * @param {(moment: any) => string} [format]
 * @returns {HTMLElement|string}
 */
export function stamp(moment, format = time) {
  const text = format(moment);
  if (text === NOTHING) return text;
  return el("time", { datetime: utc(moment), title: utc(moment) }, text);
}

/** @returns {string} the time zone of the page, such as "Europe/Berlin (UTC+01:00)" */
export function zone(now = new Date()) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const minutes = -now.getTimezoneOffset();
  if (timeZone === "UTC") return "UTC";
  const two = (value) => String(value).padStart(2, "0");
  const size = Math.abs(minutes);
  const offset = `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return timeZone ? `${timeZone} (${offset})` : offset;
}
