/** From now on, a button that was disabled while it was busy gets its focus back once it can be pressed again, unless that has gone elsewhere. */
export function keepFocus(): void {
  let last: EventTarget | null = null;
  addEventListener("focusin", ({ target }) => {
    last = target;
  });
  new MutationObserver((changes) => {
    const button = changes.map(({ target }) => target).find((target) => target === last);
    if (button instanceof HTMLButtonElement && !button.disabled && document.activeElement === document.body)
      button.focus({ preventScroll: true });
  }).observe(document, { subtree: true, attributeFilter: ["disabled"] });
}
