/** Checkpoint, savepoint, stop, cancel: confirm, trigger, wait for the operation, show its result. */

import { el } from "./lib/dom.js";
import { get, patch, post } from "./lib/rest.js";
import { ask } from "./lib/dialog.js";
import { isOver } from "./lib/job.js";
import { toast } from "./lib/toast.js";

const PAUSE_MS = 500;

/** @typedef {import("./pages.js").Context} Context */

/** The actions in progress, so that none is triggered twice. */
const inProgress = new Set();

const ACTIONS = [
  { name: "checkpoint", title: "Checkpoint", act: checkpoint },
  { name: "savepoint", title: "Savepoint", act: savepoint },
  { name: "stop", title: "Stop", act: stop },
  { name: "cancel", title: "Cancel", act: cancel, danger: true },
];

/**
 * The buttons; a disabled one gives the reason.
 *
 * @param {Context} context
 * @returns {HTMLElement[]}
 */
export function actions(context) {
  const { abilities } = context.job();
  return ACTIONS.map(({ name, title, act, danger }) => {
    const reason = inProgress.has(name) ? "Already in progress." : (abilities.reason?.[name] ?? null);
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
    body: [el("p", {}, `Job ${job.name} takes an extra checkpoint and keeps running.`)],
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
    body: [el("p", {}, `Job ${job.name} keeps running while the savepoint is written.`), directoryField(job)],
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
      el("p", {}, `Job ${job.name} finishes at the next boundary with a savepoint from which it can be started again.`),
      directoryField(job),
      el(
        "label",
        { class: "check" },
        el("input", { type: "checkbox", name: "drain" }),
        el("span", {}, "Drain: also emit results that wait for event time to advance. A drained job cannot be resumed from where it stopped."),
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
    done: (operation) => ["The job finished with a savepoint", operation.location],
    last: "FINISHED",
  });
}

async function cancel(context) {
  const job = context.job();
  const answer = await ask({
    title: "Cancel the job?",
    body: [
      el("p", {}, `Job ${job.name} ends at the next boundary, without a savepoint.`),
      el("p", {}, "Its newest checkpoint is kept, unless checkpointing.on-cancel is set to delete it."),
    ],
    action: "Cancel the job",
    danger: true,
  });
  if (!answer) return;
  const message = toast("busy", "The job is being cancelled …");
  inProgress.add("cancel");
  try {
    await patch(`jobs/${job.id}?mode=cancel`);
    const state = await endOf(job.id);
    context.ended(state);
    message.become(state === "CANCELED" ? "good" : "bad", "The job has ended", state);
  } catch (error) {
    message.become("bad", "The job was not cancelled", error.message);
  } finally {
    inProgress.delete("cancel");
    await context.refresh();
  }
}

/** Wait for the end of a cancelled job; its server stops with it. */
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
  inProgress.add(name);
  try {
    const { "request-id": id } = await trigger();
    context.refresh();
    const operation = await resultOf(() => result(id));
    const failure = operation["failure-cause"] ?? operation.failureCause;
    if (failure) message.become("bad", "The operation failed", failure["stack-trace"]);
    else message.become("good", ...done(operation));
    if (last && !failure) context.ended(last);
  } catch (error) {
    message.become("bad", "The operation failed", error.message);
  } finally {
    inProgress.delete(name);
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
    el("span", {}, "Subfolder of the savepoint directory (optional)"),
    el("input", { name: "directory", autocomplete: "off", spellcheck: "false", placeholder: "release-42", pattern: "[A-Za-z0-9._\\-]+(/[A-Za-z0-9._\\-]+)*" }),
    el("small", {}, root ? `in ${root}` : ""),
  );
}

function directoryOf(job, answer) {
  const name = String(answer.get("directory") ?? "").trim();
  return name ? `${job.abilities["savepoint-dir"].replace(/\/+$/, "")}/${name}` : null;
}
