/** Checkpoint, savepoint, stop, cancel: asks first, triggers, follows the operation, says what became of it. */

import { el } from "./lib/dom.js";
import { get, patch, post } from "./lib/rest.js";
import { ask } from "./lib/dialog.js";
import { isOver } from "./lib/job.js";
import { toast } from "./lib/toast.js";

const PAUSE_MS = 500;

/** @typedef {import("./pages.js").Context} Context */

/** What is under way, so that nobody triggers it twice. */
const underWay = new Set();

const ACTIONS = [
  { name: "checkpoint", title: "Checkpoint", act: checkpoint },
  { name: "savepoint", title: "Savepoint", act: savepoint },
  { name: "stop", title: "Stop", act: stop },
  { name: "cancel", title: "Cancel", act: cancel, danger: true },
];

/**
 * The buttons; one that cannot be used says why.
 *
 * @param {Context} context
 * @returns {HTMLElement[]}
 */
export function actions(context) {
  const { abilities } = context.job();
  return ACTIONS.map(({ name, title, act, danger }) => {
    const reason = underWay.has(name) ? "It is under way." : (abilities.reason?.[name] ?? null);
    const able = abilities[name] && !reason;
    return el(
      "button",
      {
        type: "button",
        class: danger ? "button danger" : "button",
        "aria-disabled": able ? null : "true",
        title: able ? null : reason,
        onclick: () => (able ? act(context) : toast("bad", `${title} is not possible now`, reason ?? "")),
      },
      title,
    );
  });
}

async function checkpoint(context) {
  const job = context.job();
  const answer = await ask({
    title: "Take a checkpoint now?",
    body: [el("p", {}, `Job ${job.name} takes one beside its interval. Nothing stops.`)],
    action: "Take checkpoint",
  });
  if (!answer) return;
  await follow(context, {
    name: "checkpoint",
    busy: "The checkpoint is being taken …",
    trigger: () => post(`jobs/${job.id}/checkpoints`, {}),
    result: (id) => get(`jobs/${job.id}/checkpoints/${id}`),
    done: (operation) => ["Checkpoint completed", `Checkpoint ${operation.checkpointId}`],
  });
}

async function savepoint(context) {
  const job = context.job();
  const answer = await ask({
    title: "Take a savepoint?",
    body: [el("p", {}, `Job ${job.name} goes on while it is written.`), directoryField(job)],
    action: "Take savepoint",
  });
  if (!answer) return;
  const directory = directoryOf(job, answer);
  await follow(context, {
    name: "savepoint",
    busy: "The savepoint is being taken …",
    trigger: () => post(`jobs/${job.id}/savepoints`, directory ? { "target-directory": directory } : {}),
    result: (id) => get(`jobs/${job.id}/savepoints/${id}`),
    done: (operation) => ["Savepoint completed", operation.location],
  });
}

async function stop(context) {
  const job = context.job();
  const answer = await ask({
    title: "Stop with a savepoint?",
    body: [
      el("p", {}, `Job ${job.name} finishes at a boundary and leaves a savepoint, from which it can be started again.`),
      directoryField(job),
      el(
        "label",
        { class: "check" },
        el("input", { type: "checkbox", name: "drain" }),
        el("span", {}, "Drain: also emit what waits for event time to go on. A drained job cannot be resumed where it was."),
      ),
    ],
    action: "Stop with savepoint",
    danger: true,
  });
  if (!answer) return;
  const directory = directoryOf(job, answer);
  await follow(context, {
    name: "stop",
    busy: "The job is being stopped …",
    trigger: () =>
      post(`jobs/${job.id}/stop`, { drain: answer.has("drain"), ...(directory ? { targetDirectory: directory } : {}) }),
    result: (id) => get(`jobs/${job.id}/savepoints/${id}`),
    done: (operation) => ["The job has finished with a savepoint", operation.location],
    last: "FINISHED",
  });
}

async function cancel(context) {
  const job = context.job();
  const answer = await ask({
    title: "Cancel the job?",
    body: [
      el("p", {}, `Job ${job.name} ends at the next boundary, without a savepoint.`),
      el("p", {}, "Its newest checkpoint stays, unless checkpointing.on-cancel says otherwise."),
    ],
    action: "Cancel the job",
    danger: true,
  });
  if (!answer) return;
  const message = toast("busy", "The job is being cancelled …");
  underWay.add("cancel");
  try {
    await patch(`jobs/${job.id}?mode=cancel`);
    const state = await endOf(job.id);
    context.ended(state);
    message.become(state === "CANCELED" ? "good" : "bad", "The job has ended", state);
  } catch (error) {
    message.become("bad", "The job was not cancelled", error.message);
  } finally {
    underWay.delete("cancel");
    await context.refresh();
  }
}

/** Wait for the end of a job that was cancelled; its server goes with it. */
async function endOf(id) {
  for (;;) {
    try {
      const { status } = await get(`jobs/${id}/status`);
      if (isOver(status)) return status;
    } catch (error) {
      if (error.status === 0) return "CANCELED";
      throw error;
    }
    await pause();
  }
}

/** Trigger an operation and wait for its result. */
async function follow(context, { name, busy, trigger, result, done, last }) {
  const message = toast("busy", busy);
  underWay.add(name);
  try {
    const { "request-id": id } = await trigger();
    context.refresh();
    const operation = await resultOf(() => result(id));
    const failure = operation["failure-cause"] ?? operation.failureCause;
    if (failure) message.become("bad", "It failed", failure["stack-trace"]);
    else message.become("good", ...done(operation));
    if (last && !failure) context.ended(last);
  } catch (error) {
    message.become("bad", "It failed", error.message);
  } finally {
    underWay.delete(name);
    await context.refresh();
  }
}

async function resultOf(ask) {
  for (;;) {
    const answer = await ask();
    if (answer.status.id === "COMPLETED") return answer.operation;
    await pause();
  }
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

function directoryField(job) {
  const root = job.abilities["savepoint-dir"];
  return el(
    "label",
    { class: "field" },
    el("span", {}, "Folder under the savepoint directory (optional)"),
    el("input", { name: "directory", autocomplete: "off", spellcheck: "false", placeholder: "release-42", pattern: "[A-Za-z0-9._\\-]+(/[A-Za-z0-9._\\-]+)*" }),
    el("small", {}, root ? `in ${root}` : ""),
  );
}

function directoryOf(job, answer) {
  const name = String(answer.get("directory") ?? "").trim();
  return name ? `${job.abilities["savepoint-dir"].replace(/\/+$/, "")}/${name}` : null;
}
