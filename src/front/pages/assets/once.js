// Keeps a form from being sent twice, as by a double click. After LONG milliseconds, or on returning to the page, it can be sent again.
const LONG = 10000;
let sent = new WeakSet();

addEventListener("submit", (event) => {
  const form = event.target;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
  setTimeout(() => sent.delete(form), LONG);
});

addEventListener("pageshow", () => {
  sent = new WeakSet();
});
