// Polls the state of the link that the page shows, and reloads the page once it is decided.
const waiting = document.querySelector("[data-link-status]");
const EVERY = 2000;
/** Milliseconds after which a request without an answer is given up. */
const PATIENCE = 10_000;

/** Whether the link is decided, or cannot be read for good. A server that cannot answer for now says nothing about it. */
async function isDecided() {
  const signal = AbortSignal.timeout(PATIENCE);
  const response = await fetch(waiting.dataset.linkStatus, { headers: { accept: "application/json" }, signal });
  if (response.status === 429 || response.status >= 500) return false;
  return !response.ok || (await response.json()).status !== "pending";
}

async function wait() {
  if (!document.hidden && (await isDecided().catch(() => false))) location.reload();
  else setTimeout(wait, EVERY);
}

if (waiting !== null) setTimeout(wait, EVERY);
