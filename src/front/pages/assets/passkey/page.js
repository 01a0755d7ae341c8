// Signs in with a passkey or makes one, by the forms that have data-passkey. Without scripts they stay hidden, and other ways remain.
const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication, startRegistration } =
  globalThis.SimpleWebAuthnBrowser;

/** Asks this server for a challenge. Undefined when the page has to be asked again, as for a fresh proof. @throws where it cannot answer now */
async function optionsFor(form) {
  const response = await fetch(form.dataset.options, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (response.status === 429 || response.status >= 500) throw new Error("no challenge now");
  // A redirect leads to the sign-in page.
  return response.ok && !response.redirected ? response.json() : undefined;
}

/** Sends the form as it is: the server says what is wrong. */
const send = (form, answer) => {
  form.elements.response.value = answer === undefined ? "" : JSON.stringify(answer);
  form.submit();
};

/** What the user has asked for last. A second click asks again, and what comes of the first counts no more. */
let latest;

async function use(form, answering) {
  const own = {};
  latest = own;
  const failures = Array.from(form.querySelectorAll("[data-failure]"));
  for (const failure of failures) failure.hidden = true;
  try {
    const optionsJSON = await optionsFor(form);
    if (latest !== own) return;
    if (optionsJSON === undefined) return send(form);
    const answer = await answering({ optionsJSON });
    if (latest === own) send(form, answer);
  } catch ({ name }) {
    if (latest !== own) return;
    const [other] = failures;
    (failures.find(({ dataset }) => dataset.failure === name) ?? other).hidden = false;
  }
}

/** Whether the user has asked for a passkey by a button. A suggestion that comes later would end what the browser asks for then. */
let hasAsked = false;

/** Milliseconds before its challenge ends from which a suggestion is made again. */
const MARGIN = 60_000;

/** Offers passkeys where the browser suggests what to fill in, until the user chooses another way; again for a user who comes back late. */
async function suggest(form) {
  if (!(await browserSupportsWebAuthnAutofill())) return;
  let lasts = 0;
  const offer = async () => {
    if (hasAsked || Date.now() < lasts) return;
    lasts = Date.now() + MARGIN; // one request at a time
    const optionsJSON = await optionsFor(form);
    if (optionsJSON === undefined || hasAsked) return;
    lasts = Date.now() + optionsJSON.timeout - MARGIN;
    send(form, await startAuthentication({ optionsJSON, useBrowserAutofill: true }));
  };
  const attempt = () => offer().catch(() => undefined); // the user chose another way
  for (const event of ["focus", "pointerdown"]) addEventListener(event, attempt, true); // the field can have the focus already
  await attempt();
}

if (browserSupportsWebAuthn()) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const signsIn = form.dataset.passkey === "sign-in";
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      hasAsked = true;
      void use(form, signsIn ? startAuthentication : startRegistration);
    });
    if (signsIn && document.querySelector(".summary") === null) void suggest(form);
  }
}
