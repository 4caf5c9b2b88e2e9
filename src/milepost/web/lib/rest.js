/** The only door to the job: its REST interface, at the address from which this page came. */

const TIMEOUT_MS = 10_000;

/** An answer that is no success; `status` is 0 where there was no answer. */
export class RestError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} path relative to the page, such as "jobs/overview"
 * @returns {Promise<any>}
 */
export function get(path) {
  return ask("GET", path);
}

/**
 * @param {string} path
 * @param {Object} [body]
 * @returns {Promise<any>}
 */
export function post(path, body = {}) {
  return ask("POST", path, body);
}

/**
 * @param {string} path
 * @param {Object} [body]
 * @returns {Promise<any>}
 */
export function patch(path, body) {
  return ask("PATCH", path, body);
}

/**
 * Ask for something that an older or another server may not have.
 *
 * @param {string} path
 * @returns {Promise<any|null>} null where there is no such path
 */
export async function find(path) {
  try {
    return await get(path);
  } catch (error) {
    if (error instanceof RestError && error.status === 404) return null;
    throw error;
  }
}

async function ask(method, path, body) {
  const request = { method, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(TIMEOUT_MS) };
  if (body !== undefined) {
    request.headers = { "Content-Type": "application/json" };
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new RestError(0, "The job does not answer.");
  }
  const document = await response.json().catch(() => null);
  if (!response.ok) throw new RestError(response.status, document?.errors?.[0] ?? `The answer was ${response.status}.`);
  return document;
}
