// Sends the requests of the API reference. What is typed in stays in this page, and what comes is shown as text.

/** Milliseconds after which a request without an answer is given up. */
const PATIENCE = 30_000;

const credential = (name) => document.getElementById(name).value.trim();
const encoded = (text) => new URLSearchParams({ text }).toString().slice("text=".length); // RFC 6749 §2.3.1

const isGiven = (proof) => credential(proof === "bearer" ? "token" : "client_id") !== "";

/** The request that a form describes. Empty fields are left out. */
function requestOf(form) {
  const { method, target, proof } = form.dataset;
  const sent = { path: [], query: [], header: [], form: [], json: [] };
  for (const { dataset, name, value, type } of form.elements) {
    if (dataset.in === undefined) continue;
    const values = type === "textarea" && dataset.in !== "json" ? value.split("\n") : [value];
    for (const each of values) if (each.trim() !== "") sent[dataset.in].push([name, each]);
  }
  const { path, json, ...rest } = sent;
  const place = path.reduce((url, [name, value]) => url.replace(`{${name}}`, () => encodeURIComponent(value)), target);
  const url = new URL(place, location.href).href;
  return { ...rest, method, url, json: json[0]?.[1], proof: "optional" in form.dataset && !isGiven(proof) ? undefined : proof };
}

function send({ method, url, query, header, form, json, proof }) {
  const headers = new Headers(header);
  if (proof === "bearer" && isGiven(proof)) headers.set("Authorization", `Bearer ${credential("token")}`);
  if (proof === "clientBasic" && isGiven(proof))
    headers.set("Authorization", `Basic ${btoa(`${encoded(credential("client_id"))}:${encoded(credential("client_secret"))}`)}`);
  if (json !== undefined) headers.set("Content-Type", "application/json");
  return fetch(query.length > 0 ? `${url}?${new URLSearchParams(query)}` : url, {
    method,
    headers,
    body: json ?? (form.length > 0 ? new URLSearchParams(form) : undefined),
    credentials: proof === "session" ? "same-origin" : "omit",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  });
}

/** Headers and body, with JSON on lines of its own. */
function printed(headers, text) {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  try {
    return [...lines, "", JSON.stringify(JSON.parse(text), null, 2)].join("\n");
  } catch {
    return [...lines, "", text || "(no body)"].join("\n");
  }
}

async function run(form) {
  const [status, answer] = [form.querySelector("[role=status]"), form.querySelector(".try-answer")];
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  status.textContent = "Sending …";
  const from = performance.now();
  try {
    const response = await send(requestOf(form));
    const text = await response.text();
    const took = Math.round(performance.now() - from);
    answer.textContent = printed(response.headers, text);
    status.textContent = `${`${response.status} ${response.statusText}`.trim()}, after ${took} ms`;
    answer.hidden = false;
  } catch (error) {
    answer.hidden = true;
    status.textContent = `No answer: ${error.message}`;
  }
  form.ariaBusy = "false";
}

/** Shows what the form stands for now: the command, or where the link leads. */
function refresh(form) {
  const request = requestOf(form);
  const link = form.querySelector("[data-opens]");
  if (link !== null) link.href = request.query.length > 0 ? `${request.url}?${new URLSearchParams(request.query)}` : request.url;
  else form.querySelector("[data-curl]").textContent = curlCommand(request);
}

async function copy(form) {
  const status = form.querySelector("[role=status]");
  try {
    await navigator.clipboard.writeText(form.querySelector("[data-curl]").textContent);
    status.textContent = "Copied.";
  } catch {
    status.textContent = "The browser does not let this page copy.";
  }
}

const forms = [...document.querySelectorAll("form[data-try]")];
for (const form of forms) {
  for (const field of form.elements)
    if (field.type === "text" && SECRET.test(field.name)) Object.assign(field, { type: "password", autocomplete: "new-password" });
  form.addEventListener("input", () => refresh(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (form.querySelector("[data-opens]") === null) run(form);
  });
  form.querySelector("[data-opens]")?.addEventListener("click", (event) => {
    if (!form.reportValidity()) event.preventDefault();
  });
  form.querySelector("[data-copies]")?.addEventListener("click", () => copy(form));
}
const all = () => {
  for (const form of forms) refresh(form);
};
document.getElementById("client_id").addEventListener("input", all);
all();
for (const part of document.querySelectorAll("[data-try]")) part.hidden = false;
