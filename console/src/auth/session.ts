import { SignedOut } from "../api/failure.ts";
import { askOnce } from "../api/step-up.ts";
import { BASE, ISSUER, PUSHED, patience } from "../environment.ts";
import { jwtPart } from "../jwt-part.ts";
import { T } from "../texts/texts.ts";
import { uncopied } from "../uncopied.ts";
import { answerInPopup, type Demand, type FlowClient, FlowError, newRequest, openPopup, type Proof, redeem } from "./code-flow.ts";

/** Milliseconds before its expiry from which a token is renewed. */
const MARGIN = 30_000;
/** The one request that is answered by a navigation: it outlives this document, and is removed when it is read. */
const ATTEMPT = "countersign-console-attempt";

let current: AccessToken | undefined;
/** Whose data this document shows, and whose acts wait in it. */
let subject: string | undefined;
let renewing: Promise<AccessToken | undefined> | undefined;
/** One navigation for all calls: of two, the browser could follow the first while the request of the second is kept. */
let leaving: Promise<void> | undefined;
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) leaving = undefined; // the user came back to this document
});

// A user who stays, as to copy a secret first, is not leaving. The timer runs once the browser has asked them.
addEventListener("beforeunload", (event) =>
  setTimeout(() => {
    if (event.defaultPrevented) leaving = undefined;
  }),
);

/** The form that was typed in last, and not saved since. While it is there, or a secret that was not copied, the page is not left for another sign-in. */
let form: Element | null = null;
addEventListener("input", ({ target }) => {
  form = (target instanceof Element && target.closest("form")) || form;
});

/** After a change was saved. */
export const forgetForm = (): void => {
  form = null;
};

const isFresh = (token: AccessToken | undefined): token is AccessToken =>
  token !== undefined && token.expiresAt - MARGIN > performance.now();

/** Uses a token from now on. Of another user, who has signed in to this browser, only a new document may use one; the promise stays open. */
async function use(token: AccessToken): Promise<AccessToken> {
  subject ??= token.subject;
  if (token.subject !== subject) {
    location.reload();
    return new Promise(() => undefined);
  }
  current = token;
  return token;
}

async function renewed(): Promise<AccessToken | undefined> {
  renewing ??= signInSilently().finally(() => {
    renewing = undefined;
  });
  const token = await renewing;
  return token && use(token);
}

/**
 * The token for a call; without a session the user signs in again in a window where a form is filled in, and else the browser leaves for the
 * sign-in page, and the promise stays open.
 * @throws {SignedOut} when the user does not sign in  @throws when the server cannot answer for now
 */
export async function accessToken(): Promise<string> {
  if (isFresh(current)) return current.token;
  const token = await renewed();
  if (token !== undefined) return token.token;
  if ((form?.isConnected || uncopied().length > 0) && leaving === undefined) {
    if (!(await askOnce())) throw new SignedOut(T.proof.refused);
    return accessToken();
  }
  await (leaving ?? leave(signInByPage(here())));
  return new Promise(() => undefined);
}

function leave(navigation: Promise<void>): Promise<void> {
  leaving = navigation.catch((error: unknown) => {
    leaving = undefined;
    throw error;
  });
  return leaving;
}

/** For a token that the server did not accept. */
export function forgetToken(): void {
  current = undefined;
}

const here = (): string => location.pathname + location.search;

/** Leaves for the sign-in page and returns to `returnTo`. */
async function signInByPage(returnTo: string): Promise<void> {
  const { proof, url } = await newRequest(CONSOLE, WITH_SIGN_IN_TIME);
  sessionStorage.setItem(ATTEMPT, JSON.stringify({ ...proof, returnTo }));
  location.assign(url);
}

/**
 * Takes the answer of the authorization server from the address.
 * @returns the path to continue at; undefined if it answers no request  @throws {FlowError} if it is an error
 */
export async function completeSignIn(): Promise<string | undefined> {
  const kept = sessionStorage.getItem(ATTEMPT);
  sessionStorage.removeItem(ATTEMPT);
  if (kept === null) return undefined;
  const { returnTo, ...proof } = JSON.parse(kept) as Proof & { readonly returnTo: string }; // our own, of this tab
  await use(await tokenOf(new URLSearchParams(location.search), proof));
  return returnTo.startsWith(`${BASE}/console`) ? returnTo : undefined;
}

/**
 * A new sign-in in a window of its own, so that this page keeps what was typed.
 * @returns false when the user gave up  @throws {FlowError}
 */
export async function signInAgain(demand: Demand = WITH_SIGN_IN_TIME, signal: AbortSignal): Promise<boolean> {
  const popup = openPopup();
  if (popup === null) throw new FlowError("popup_blocked");
  const arrived = await answerInPopup(popup, CONSOLE, demand, signal);
  if (arrived !== undefined) await use(await tokenOf(arrived.answer, arrived.proof));
  return arrived !== undefined;
}

/** Ends the session of this browser, at the server too. @throws when the server does not do it: the page then stays */
export const signOut = (): Promise<void> => leave(endSession());

async function endSession(): Promise<void> {
  const token = await renewed();
  if (token !== undefined) {
    const headers = { authorization: `Bearer ${token.token}` };
    const init = { method: "POST", headers, credentials: "same-origin", signal: patience() } as const;
    const response = await fetch(`${BASE}/auth/logout?everywhere=false`, init);
    if (!response.ok) throw new FlowError("temporarily_unavailable");
  }
  forgetToken();
  location.assign(`${BASE}/`);
}

/** The built-in client of the console (docs/protocol.md#console-sign-in). */
const CONSOLE: FlowClient = {
  clientId: "countersign-console",
  redirectUri: `${ISSUER}/console/callback`,
  scope: "openid email server:manage",
  resource: ISSUER,
  pushed: PUSHED,
};

/** So that tokens say when and how the user signed in, for what needs a fresh proof (docs/protocol.md#fresh-proof). No session is so old. */
const WITH_SIGN_IN_TIME = { max_age: String(365 * 86_400) } as const;

/** An access token, kept in memory alone. */
export interface AccessToken {
  readonly token: string;
  /** By performance.now(). */
  readonly expiresAt: number;
  /** Identifies the user. */
  readonly subject: string;
}

/** The subject of an ID token, which needs no proof when the token endpoint has sent it (OpenID Connect Core §3.1.3.7). */
const subjectOf = (idToken = ""): string => {
  const [, claims = ""] = idToken.split(".");
  return (jwtPart(claims) as { readonly sub: string }).sub;
};

/** @throws {FlowError} if the answer is an error, or belongs to another request */
async function tokenOf(answer: URLSearchParams, proof: Proof): Promise<AccessToken> {
  const sent = performance.now();
  const { access_token: token, expires_in: lifetime, id_token: idToken } = await redeem(answer, CONSOLE, proof);
  return { token, expiresAt: sent + lifetime * 1000, subject: subjectOf(idToken) };
}

/**
 * A token without the user: the request is sent by script, follows its redirect within this origin, and the code is read from where it ends.
 * No page is left, so nothing that was typed is lost.
 * @returns undefined if the user has to sign in  @throws when the server does not answer, or cannot for now
 */
async function signInSilently(): Promise<AccessToken | undefined> {
  const { proof, url } = await newRequest(CONSOLE, { prompt: "none", ...WITH_SIGN_IN_TIME });
  const answer = await fetch(url, { credentials: "same-origin", headers: { accept: "text/html" }, signal: patience() });
  await answer.body?.cancel();
  const arrived = new URL(answer.url);
  if (`${arrived.origin}${arrived.pathname}` !== CONSOLE.redirectUri) {
    if (answer.status >= 500) throw new FlowError("temporarily_unavailable");
    return undefined;
  }
  return tokenOf(arrived.searchParams, proof).catch((error: unknown) => {
    if (error instanceof FlowError && !error.isTransient) return undefined;
    throw error;
  });
}
