/** The failures of the job's attempts, newest first, with the traceback of user code. */

import { el, render } from "../lib/dom.js";
import { age } from "../lib/format.js";
import { stamp } from "../lib/moment.js";
import { get } from "../lib/rest.js";

/** @type {import("../pages.js").Page} */
export const exceptions = {
  path: "exceptions",
  title: "Exceptions",
  mount(root, context) {
    return {
      async update() {
        const { id, now } = context.job();
        const { exceptionHistory } = await get(`jobs/${id}/exceptions`);
        const { entries, truncated } = exceptionHistory;
        render(
          root,
          el(
            "section",
            { class: "card" },
            el("h2", {}, "Exceptions"),
            entries.length ? null : el("p", { class: "empty" }, "No attempt of this job has failed."),
            entries.map((entry, index) => exception(entry, now, index === 0)),
            truncated ? el("p", { class: "faint" }, "Older exceptions are not shown.") : null,
          ),
        );
      },
    };
  },
};

function exception(entry, now, isOpen) {
  const { why, fix, trace } = parts(entry);
  return el(
    "article",
    { class: "exception", key: entry.timestamp },
    el("h3", {}, entry.exceptionName),
    el("p", { class: "faint" }, stamp(entry.timestamp), ` (${age(entry.timestamp, now)})`),
    why ? el("p", { class: "lines" }, why) : null,
    fix ? el("p", { class: "lines" }, el("strong", {}, "What to do: "), fix) : null,
    trace
      ? el("details", { open: isOpen }, el("summary", {}, "Traceback"), el("pre", { tabindex: "0" }, trace))
      : null,
  );
}

/** The text of an entry contains the error, its cause and its fix, each on its own line, and a traceback as it is. */
function parts(entry) {
  const below = entry.stacktrace.slice(entry.exceptionName.length);
  const found = below.match(/^(?:\n?Why: ([\s\S]*?))?(?:\nFix: ([^\n]*))?(?:\n(Traceback[\s\S]*))?$/);
  if (!found) return { why: below.trim(), fix: "", trace: "" };
  const [, why = "", fix = "", trace = ""] = found;
  if (!why.startsWith("Traceback")) return { why, fix, trace };
  return { why: messageOf(why), fix, trace: why };
}

/** The end of a traceback: the message of the error, possibly over several lines. */
function messageOf(trace) {
  const lines = trace.trimEnd().split("\n");
  const start = lines.findLastIndex((line) => line.startsWith("Traceback "));
  const message = lines.findIndex((line, index) => index > start && line && !line.startsWith("  "));
  return lines.slice(message === -1 ? -1 : message).join("\n");
}
