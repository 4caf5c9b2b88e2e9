/** Marks overflowing elements, so that the page can show that they scroll sideways. */

const PARTS = ".table, .graph";

/** Update all marks; called after each refresh. */
export function markOverflow() {
  for (const part of document.querySelectorAll(PARTS)) mark(part);
}

/** Update the marks when the user scrolls or resizes the window. */
export function watchOverflow() {
  addEventListener("resize", markOverflow);
  document.addEventListener("scroll", (event) => event.target.matches?.(PARTS) && mark(event.target), { capture: true, passive: true });
  document.addEventListener("toggle", markOverflow, { capture: true });
}

function mark(part) {
  const right = part.scrollWidth - part.clientWidth - part.scrollLeft;
  const more = [part.scrollLeft > 1 && "left", right > 1 && "right"].filter(Boolean).join(" ");
  if (more) part.dataset.more = more;
  else delete part.dataset.more;
}
