/** Refreshes the whole page every two seconds; pauses while the page is hidden. */

const INTERVAL_MS = 2000;

/**
 * Call `refresh` repeatedly, never concurrently.
 *
 * @param {() => Promise<void>} refresh
 * @returns {() => Promise<void>} refreshes now, or once more after a refresh in progress
 */
export function every(refresh) {
  let timer = 0;
  let running = null;
  let again = false;

  async function once() {
    clearTimeout(timer);
    do {
      again = false;
      await refresh();
    } while (again);
    running = null;
    if (!document.hidden) timer = setTimeout(now, INTERVAL_MS);
  }

  function now() {
    if (running) again = true;
    else running = once();
    return running;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else now();
  });
  return now;
}
