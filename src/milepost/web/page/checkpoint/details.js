/** One checkpoint in full: acknowledgements, missing participants, and the cause of a failure with its traceback. */

import { el } from "../../lib/dom.js";
import { facts, table } from "../../lib/table.js";
import { badge } from "../../lib/badge.js";
import { acknowledged, bytes, clockTime, duration, NOTHING, number } from "../../lib/format.js";
import { stamp } from "../../lib/moment.js";
import { find } from "../../lib/rest.js";
import { address } from "./address.js";

const KINDS = ["participant", "sink", "engine", "state", "writer"];

/**
 * @param {import("../../pages.js").Context} context
 * @param {number} id
 * @param {number} triggered when the attempt was triggered; NaN for the newest
 */
export async function details(context, id, triggered) {
  const found = await find(`milepost/jobs/${context.job().id}/checkpoints/${id}`);
  if (!found) return el("p", { class: "empty" }, `Checkpoint ${id} does not exist, or is no longer in the history.`);
  const attempts = found.attempts;
  const shown = attempts.find((attempt) => Date.parse(attempt["triggered-at"]) === triggered) ?? attempts[0];
  return el(
    "div",
    { class: "stack" },
    el("div", { class: "row" }, el("h3", {}, `Checkpoint #${id}`), badge(shown.status), otherAttempts(id, attempts, shown)),
    ...shown["failed-by"].map(failureCause),
    shown.status === "FAILED" && shown["failed-by"].length === 0 ? el("p", { class: "notice bad" }, reasonOf(shown)) : null,
    heading(shown),
    el("h3", {}, "Participants"),
    participants(shown),
    ...contents(shown),
  );
}

/** The participant that failed the checkpoint. */
function failureCause(by) {
  return el(
    "section",
    { class: "notice bad failure-cause", key: by.participant },
    el("h3", {}, `${by.kind === "participant" ? "Participant" : by.kind} ${by.participant} declined`),
    el("p", {}, by.sentence),
    by.traceback ? el("pre", { tabindex: "0", "aria-label": "Traceback" }, by.traceback) : null,
  );
}

function reasonOf(attempt) {
  return [attempt.sentence, attempt.detail].filter(Boolean).join(" ");
}

function otherAttempts(id, attempts, shown) {
  if (attempts.length < 2) return null;
  const links = attempts.map((attempt, index) => {
    const label = `${clockTime(attempt["triggered-at"])} ${attempt.status.toLowerCase()}`;
    const href = address(id, Date.parse(attempt["triggered-at"]));
    return [index ? " · " : "", attempt === shown ? el("strong", {}, label) : el("a", { href }, label)];
  });
  return el("span", { class: "faint" }, "Attempts: ", links);
}

function heading(attempt) {
  const writers = attempt.acknowledged.filter((ack) => ack.kind === "writer");
  const ways = [...new Set(writers.map((ack) => ack.details?.write).filter(Boolean))];
  return facts([
    ["Trigger", attempt.trigger.toLowerCase().replaceAll("_", " ")],
    ["Triggered", stamp(attempt["triggered-at"])],
    ["Ended", stamp(attempt["ended-at"])],
    ["Duration", duration(attempt["duration-ms"])],
    ["Acknowledged", acknowledged(attempt.acknowledged.length, attempt.expected)],
    ["Rows", number(writers.reduce((sum, ack) => sum + ack.rows, 0))],
    ...(ways.length ? [["Written by", ways.join(", ")]] : []),
    ...counts("Rejected", attempt.rejected),
    ...counts("Late", attempt.late),
    ...(attempt.status === "FAILED" ? [["Why", reasonOf(attempt)]] : []),
  ]);
}

function counts(title, byName) {
  const entries = Object.entries(byName);
  return entries.length ? [[title, entries.map(([name, count]) => `${name} ${number(count)}`).join(", ")]] : [];
}

function participants(attempt) {
  const failed = new Set(attempt["failed-by"].map((by) => by.participant));
  const received = attempt.acknowledged.map((ack) => ({ ...ack, state: "ok", text: "acknowledged" }));
  const missing = attempt.missing.map((participant) => ({ participant, kind: kindOf(participant), state: "missing", text: "missing" }));
  const known = new Set([...received, ...missing].map((each) => each.participant));
  const declined = attempt["failed-by"].filter((by) => !known.has(by.participant));
  const rows = [...received, ...missing, ...declined]
    .map((each) => (failed.has(each.participant) ? { ...each, state: "FAILED", text: "declined" } : each))
    .sort((a, b) => rank(a) - rank(b) || a.participant.localeCompare(b.participant, "en", { numeric: true }));
  return table({
    caption: "Participants of this checkpoint",
    columns: COLUMNS,
    rows,
    key: (row) => row.participant,
    kind: (row) => (row.state === "FAILED" ? "bad" : null),
    empty: "No participants yet.",
  });
}

const COLUMNS = [
  { title: "Participant", wide: true, value: (row) => row.participant },
  { title: "Kind", value: (row) => row.kind },
  { title: "State", value: (row) => badge(row.state, row.text) },
  { title: "Acknowledged", value: (row) => stamp(row.at, clockTime) },
  { title: "After trigger", numeric: true, value: (row) => duration(row["after-ms"]) },
  { title: "Duration", numeric: true, value: (row) => duration(row["duration-ms"]) },
  { title: "Rows", numeric: true, value: (row) => number(row.rows) },
  { title: "Bytes", numeric: true, value: (row) => bytes(row.bytes) },
  { title: "Write", value: (row) => row.details?.write ?? NOTHING },
];

/** Failed participants first, then missing ones, then by kind. */
function rank(row) {
  if (row.state === "FAILED") return 0;
  return row.state === "missing" ? 1 : 2 + KINDS.indexOf(row.kind);
}

function kindOf(participant) {
  if (participant.startsWith("writer/")) return "writer";
  if (participant.startsWith("state/")) return "state";
  return participant.startsWith("sink.") ? "sink" : "participant";
}

function contents(attempt) {
  const partitions = attempt.offsets.flatMap((source) =>
    Object.entries(source).flatMap(([topic, offsets]) =>
      Object.entries(offsets).map(([partition, offset]) => ({ topic, partition: Number(partition), offset })),
    ),
  );
  if (!partitions.length) return [];
  const states = Object.entries(attempt.states);
  return [
    el(
      "details",
      {},
      el("summary", {}, `Offsets of ${number(partitions.length)} partitions`),
      table({
        caption: "Offsets of this checkpoint",
        columns: [
          { title: "Topic", value: (row) => row.topic },
          { title: "Partition", numeric: true, value: (row) => number(row.partition) },
          { title: "Next offset", numeric: true, value: (row) => number(row.offset) },
        ],
        rows: partitions,
      }),
    ),
    states.length ? el("h3", {}, "State of participants") : null,
    states.length ? facts(states.map(([name, size]) => [name, bytes(size)])) : null,
  ];
}
