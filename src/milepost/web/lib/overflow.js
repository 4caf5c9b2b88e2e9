/** Marks what is wider than its place, so that the page can show that there is more at its side. */

const PARTS = ".table, .graph";

/** Mark every such part as it is now; called after each drawing. */
export function markOverflow() {
  for (const part of document.querySelectorAll(PARTS)) mark(part);
}

/** Keep the marks right while somebody scrolls or changes the size of the window. */
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
