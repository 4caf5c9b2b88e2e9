/** Assembles the dashboard: header, navigation, the page in the address, and one refresh for all. */

import { el, render } from "./lib/dom.js";
import { every } from "./lib/refresh.js";
import { isOver, snapshot } from "./lib/job.js";
import { startTheme } from "./lib/theme.js";
import { zone } from "./lib/moment.js";
import { markOverflow, watchOverflow } from "./lib/overflow.js";
import { header } from "./header.js";
import { pages } from "./pages.js";

const roots = Object.fromEntries(["header", "nav", "note", "connection", "main"].map((id) => [id, document.getElementById(id)]));

/** @type {import("./pages.js").Snapshot|null} */
let job = null;
/** @type {{page: import("./pages.js").Page, mounted: {update: () => Promise<void>, unmount?: () => void}}|null} */
let shown = null;
/** @type {string|null} the final state of the job, if an operation of this page reported it */
let lastState = null;

const refresh = every(async () => {
  try {
    job = await snapshot();
    drawFrame();
    await drawPage();
    sayConnection(null);
  } catch (error) {
    sayConnection(error);
  }
});

/** @type {import("./pages.js").Context} */
const context = {
  job: () => job,
  params: () => route().params,
  refresh,
  ended(state) {
    lastState = state;
  },
};

function route() {
  const [path, ...params] = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  return { page: pages.find((page) => page.path === path) ?? pages[0], params };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function drawFrame() {
  const { page } = route();
  document.title = `${job.name} · ${page.title} · Milepost`;
  render(roots.header, header(context));
  const link = ({ path, title }) =>
    el("a", { href: `#/${path}`, "aria-current": path === page.path ? "page" : null }, title);
  render(roots.nav, pages.map(link), el("span", { class: "zone", title: "Time zone of all times on this page" }, `Times in ${zone()}`));
  render(roots.note, job.abilities.note ? el("p", { class: "notice" }, job.abilities.note) : null);
}

async function drawPage() {
  const { page } = route();
  if (shown?.page !== page) {
    shown?.mounted.unmount?.();
    const root = el("div", { class: `page page-${page.path}` });
    roots.main.replaceChildren(root);
    shown = { page, mounted: page.mount(root, context) };
  }
  const place = location.hash;
  await shown.mounted.update();
  markOverflow();
  roots.main.dataset.place = place; // what is drawn, for tests that wait for it
}

/** @param {any} error the error of this refresh, or null */
function sayConnection(error) {
  roots.main.classList.toggle("stale", Boolean(error));
  if (!error) return render(roots.connection);
  if (error.status === undefined) console.error(error);
  if (error.status === 0 && job && lastState) {
    job = { ...job, state: lastState, abilities: { reason: overReasons(lastState) } };
    drawFrame();
  }
  if (!job) render(roots.main, el("p", { class: "empty" }, "No data about the job yet."));
  render(roots.connection, el("p", { class: "notice bad" }, sentenceOf(error)));
}

function overReasons(state) {
  const reason = `The job has ended: ${state}.`;
  return { checkpoint: reason, savepoint: reason, stop: reason, cancel: reason };
}

function sentenceOf(error) {
  if (error.status === 401) return "401: open the address with the token that `milepost run` printed.";
  if (error.status === 0 && job && isOver(job.state)) {
    return `The job has ended: ${job.state}. Its server has stopped; this page shows the last known data.`;
  }
  if (error.status === 0) return "Connection lost, retrying. This page shows the last known data.";
  if (error.status !== undefined) return `The request failed: ${error.message}`;
  return `The page cannot be displayed: ${error.message}`;
}

addEventListener("hashchange", () => {
  if (job) drawFrame();
  refresh();
});
startTheme();
watchOverflow();
refresh();
