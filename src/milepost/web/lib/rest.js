/** The client of the job's REST interface, at the origin of this page. */

const TIMEOUT_MS = 10_000;

/** An error response; `status` is 0 if there was no response. */
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
 * Get a resource that an older server may not have.
 *
 * @param {string} path
 * @returns {Promise<any|null>} null if it does not exist
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
    throw new RestError(0, "The job does not respond.");
  }
  const document = await response.json().catch(() => null);
  if (!response.ok) throw new RestError(response.status, document?.errors?.[0] ?? `The response status was ${response.status}.`);
  return document;
}
