/** From now on, a control that was disabled while it was busy gets its focus back once it can be used again, unless that has gone elsewhere. */
export function keepFocus(): void {
  let last: Element | undefined;
  /** What had the focus before a dialog, which cannot give it back to a control that is busy by then. */
  let behind: Element | undefined;
  addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return;
    last = target;
    if (target.closest("[role=dialog]") === null) behind = target;
  });
  const hadFocus = (target: Node): boolean => target === last || (target === behind && !last?.isConnected);
  new MutationObserver((changes) => {
    const control = changes.map(({ target }) => target).find(hadFocus);
    const isControl = control instanceof HTMLButtonElement || control instanceof HTMLSelectElement;
    if (isControl && !control.disabled && document.activeElement === document.body) control.focus({ preventScroll: true });
  }).observe(document, { subtree: true, attributeFilter: ["disabled"] });
}
