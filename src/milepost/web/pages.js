/** Every page of the dashboard, in the order of the navigation. */

import { overview } from "./page/overview.js";
import { checkpoints } from "./page/checkpoints.js";
import { metrics } from "./page/metrics.js";
import { offsets } from "./page/offsets.js";
import { savepoints } from "./page/savepoints.js";
import { exceptions } from "./page/exceptions.js";
import { configuration } from "./page/configuration.js";

/**
 * What is known of the job at one refresh.
 *
 * @typedef {Object} Snapshot
 * @property {string} id
 * @property {string} name
 * @property {string} state
 * @property {number} start milliseconds since 1970
 * @property {number} end milliseconds since 1970, or -1
 * @property {number} now the server's time of this answer, milliseconds since 1970
 * @property {Object} abilities the answer of GET milepost/abilities
 */

/**
 * What a page has to work with.
 *
 * @typedef {Object} Context
 * @property {() => Snapshot} job the newest snapshot
 * @property {() => string[]} params what follows the page's own name in the address: ["history", "12"]
 * @property {() => Promise<void>} refresh asks for a refresh now
 * @property {(state: string) => void} ended is told how the job has ended: its server may be gone before it can say so
 */

/**
 * @typedef {Object} Page
 * @property {string} path its name in the address: #/path
 * @property {string} title
 * @property {(root: HTMLElement, context: Context) => {update: () => Promise<void>, unmount?: () => void}} mount
 *   `update` is called once at the start, with every refresh and when the parameters change; never twice at a time.
 */

/** @type {Page[]} */
export const pages = [overview, checkpoints, metrics, offsets, savepoints, exceptions, configuration];
