/** The address of one attempt at a checkpoint: a failed checkpoint is retried with the same id. */

/**
 * @param {number} id
 * @param {number} triggered milliseconds since the epoch
 */
export function address(id, triggered) {
  return `#/checkpoints/history/${id}/${triggered}`;
}
