/** Where one attempt at a checkpoint is shown: a checkpoint that failed is tried again under the same number. */

/**
 * @param {number} id
 * @param {number} triggered milliseconds since 1970
 */
export function address(id, triggered) {
  return `#/checkpoints/history/${id}/${triggered}`;
}
