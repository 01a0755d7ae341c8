// A form that is on its way is not sent a second time, as by a double click. Whoever comes back to the page, or has waited long, may send it anew.
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
