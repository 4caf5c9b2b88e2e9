/** Every page of the dashboard, in the order of the navigation. */

import { overview } from "./page/overview.js";
import { checkpoints } from "./page/checkpoints.js";
import { metrics } from "./page/metrics.js";
import { offsets } from "./page/offsets.js";
import { savepoints } from "./page/savepoints.js";
import { exceptions } from "./page/exceptions.js";
import { configuration } from "./page/configuration.js";

/**
 * The state of the job at one refresh.
 *
 * @typedef {Object} Snapshot
 * @property {string} id
 * @property {string} name
 * @property {string} state
 * @property {number} start milliseconds since the epoch
 * @property {number} end milliseconds since the epoch, or -1
 * @property {number} now the server's time of this response, milliseconds since the epoch
 * @property {Object} abilities the response of GET milepost/abilities
 */

/**
 * What a page can use.
 *
 * @typedef {Object} Context
 * @property {() => Snapshot} job the newest snapshot
 * @property {() => string[]} params the parts of the address after the name of the page: ["history", "12"]
 * @property {() => Promise<void>} refresh refreshes now
 * @property {(state: string) => void} ended receives the final state: the server may stop before it can report it
 */

/**
 * @typedef {Object} Page
 * @property {string} path its name in the address: #/path
 * @property {string} title
 * @property {(root: HTMLElement, context: Context) => {update: () => Promise<void>, unmount?: () => void}} mount
 *   `update` is called at the start, with every refresh and when the parameters change; never concurrently.
 */

/** @type {Page[]} */
export const pages = [overview, checkpoints, metrics, offsets, savepoints, exceptions, configuration];
