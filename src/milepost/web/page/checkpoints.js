/** Checkpoints, in Flink's four tabs: overview, history, summary, configuration; and one checkpoint in full. */

import { el, render } from "../lib/dom.js";
import { panel, tabs } from "../lib/tabs.js";
import { overviewTab } from "./checkpoint/overview.js";
import { historyTab } from "./checkpoint/history.js";
import { summaryTab } from "./checkpoint/summary.js";
import { configurationTab } from "./checkpoint/configuration.js";
import { details } from "./checkpoint/details.js";

const TABS = [
  { name: "overview", title: "Overview", show: overviewTab },
  { name: "history", title: "History", show: historyTab },
  { name: "summary", title: "Summary", show: summaryTab },
  { name: "configuration", title: "Configuration", show: configurationTab },
];

/** @type {import("../pages.js").Page} */
export const checkpoints = {
  path: "checkpoints",
  title: "Checkpoints",
  mount(root, context) {
    const kept = {}; // what a tab remembers from one refresh to the next
    return {
      async update() {
        const [name, id, triggered] = context.params();
        const chosen = TABS.find((tab) => tab.name === name) ?? TABS[0];
        const links = TABS.map((tab) => ({ ...tab, href: `#/checkpoints/${tab.name}` }));
        const isOne = chosen.name === "history" && /^\d+$/.test(id ?? "");
        const inside = isOne ? await details(context, Number(id), Number(triggered)) : await chosen.show(context, kept);
        render(
          root,
          el("section", { class: "card" }, el("h2", {}, "Checkpoints"), tabs("Checkpoints", links, chosen.name), panel(chosen.name, inside)),
        );
      },
    };
  },
};
