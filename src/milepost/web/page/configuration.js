/** The effective configuration, without secrets, and the start-up plan of the job. */

import { el, render } from "../lib/dom.js";
import { facts, table } from "../lib/table.js";
import { number } from "../lib/format.js";
import { get } from "../lib/rest.js";

/** @type {import("../pages.js").Page} */
export const configuration = {
  path: "configuration",
  title: "Configuration",
  mount(root, context) {
    let wanted = "";
    return {
      async update() {
        const { id } = context.job();
        const [{ "execution-config": execution }, { plan }] = await Promise.all([get(`jobs/${id}/config`), get(`milepost/jobs/${id}/plan`)]);
        const search = (event) => {
          wanted = event.target.value.toLowerCase();
          context.refresh();
        };
        const rows = Object.entries(execution["user-config"]).filter((pair) => pair.join(" ").toLowerCase().includes(wanted));
        render(
          root,
          el("section", { class: "card" }, el("h2", {}, "Start-up plan"), planView(plan)),
          el(
            "section",
            { class: "card" },
            el("h2", {}, "Effective configuration"),
            el("label", { class: "field" }, el("span", {}, "Search"), el("input", { type: "search", oninput: search, placeholder: "checkpointing" })),
            table({
              caption: "Effective configuration",
              columns: [
                { title: "Key", value: ([key]) => el("code", {}, key) },
                { title: "Value", wide: true, value: ([, value]) => el("code", {}, value) },
              ],
              rows,
              key: ([key]) => key,
              empty: "No key or value matches.",
            }),
          ),
        );
      },
    };
  },
};

function planView(plan) {
  if (!plan) return el("p", { class: "empty" }, "The plan was not stored.");
  const { partitions = [], ...others } = plan;
  return [
    facts(Object.entries(others).filter(([, value]) => isPresent(value)).map(([name, value]) => [titleOf(name), textOf(value)])),
    table({
      caption: "Start offset of each partition",
      columns: [
        { title: "Topic", value: (row) => row.topic },
        { title: "Partition", numeric: true, value: (row) => number(row.partition) },
        { title: "Start offset", numeric: true, value: (row) => number(row.offset) },
        { title: "End offset at the start", numeric: true, value: (row) => number(row.latest) },
        { title: "Reason", wide: true, value: (row) => row.reason },
      ],
      rows: partitions,
      empty: "The plan has no partitions.",
    }),
  ];
}

function isPresent(value) {
  return value !== null && value !== "" && !(typeof value === "object" && Object.keys(value).length === 0);
}

function titleOf(name) {
  const words = name.replaceAll("-", " ");
  return words[0].toUpperCase() + words.slice(1);
}

function textOf(value) {
  if (Array.isArray(value)) return value.map((each) => el("div", {}, textOf(each)));
  if (typeof value === "object") return Object.entries(value).map(([name, each]) => el("div", {}, `${name}: `, textOf(each)));
  return String(value);
}
