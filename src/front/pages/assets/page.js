// What pages do where the browser runs scripts. Each of them works without.

// Keeps a form from being sent twice, as by a double click. After LONG milliseconds, or on returning to the page, it can be sent again.
const LONG = 10000;
let sent = new WeakSet();

addEventListener("submit", (event) => {
  const form = event.target;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
  setTimeout(() => sent.delete(form), LONG);
  // A browser remembers what is typed into a field of text.
  for (const button of form.querySelectorAll("[data-hide]")) show(button, false);
});

addEventListener("pageshow", () => {
  sent = new WeakSet();
});

// Another site can lay a window of its own over this one, and close it between the two clicks of a double click: the second one would fall on
// what allows something here. So that takes no click of a pointer until the page has been in front for READ milliseconds.
const READ = 500;
const deciding = document.querySelectorAll("[data-decides]");
let holding;

const hold = () => {
  for (const button of deciding) button.setAttribute("aria-disabled", "true");
  clearTimeout(holding);
  holding = setTimeout(() => {
    for (const button of deciding) button.removeAttribute("aria-disabled");
  }, READ);
};

for (const button of deciding)
  button.addEventListener("click", (event) => {
    if (button.ariaDisabled && event.detail > 0) event.preventDefault();
  });
addEventListener("focus", hold);
addEventListener("pageshow", hold);

// Shows a password, and hides it again.
const show = (button, visible) => {
  const input = document.getElementById(button.getAttribute("aria-controls"));
  input.type = visible ? "text" : "password";
  button.textContent = visible ? button.dataset.hide : button.dataset.show;
};

for (const button of document.querySelectorAll("[data-hide]")) {
  button.hidden = false;
  button.addEventListener("click", () => show(button, button.textContent === button.dataset.show));
}

// Times in the user's time zone, and days near today in words. The page has them in UTC.
const { lang } = document.documentElement;
const locale = navigator.languages.find((tag) => tag.split("-")[0] === lang) ?? lang;
const startOfDay = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

for (const time of document.querySelectorAll("time[data-shows]")) {
  const at = new Date(time.dateTime);
  const days = Math.round((startOfDay(at) - startOfDay(new Date())) / 86400000);
  const isNear = Math.abs(days) <= 1;
  const day = isNear
    ? new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(days, "day")
    : at.toLocaleDateString(locale, { dateStyle: "long" });
  const clock = time.dataset.shows === "day" ? "" : `, ${at.toLocaleTimeString(locale, { timeStyle: "short" })}`;
  time.textContent = day + clock;
  time.title = at.toLocaleString(locale, { dateStyle: "full", timeStyle: "long" });
}
