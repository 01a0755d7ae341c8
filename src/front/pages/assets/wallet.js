// Polls the state of the link that the page shows, and reloads the page once it is decided.
const waiting = document.querySelector("[data-link-status]");
const EVERY = 2000;

async function look() {
  const response = await fetch(waiting.dataset.linkStatus, { headers: { accept: "application/json" } });
  if (!response.ok || (await response.json()).status !== "pending") location.reload();
}

async function wait() {
  if (!document.hidden) await look().catch(() => undefined);
  setTimeout(wait, EVERY);
}

if (waiting !== null) setTimeout(wait, EVERY);
