/** One refresh for the whole page, every two seconds; it rests while nobody looks. */

const INTERVAL_MS = 2000;

/**
 * Call `refresh` again and again, never twice at a time.
 *
 * @param {() => Promise<void>} refresh
 * @returns {() => Promise<void>} refreshes now; where one is under way, once more after it
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
