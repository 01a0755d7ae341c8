import { ASSERTION_TYPE, anAssertion } from "../test/support/assertions.ts";
import type { Browser } from "../test/support/browser.ts";
import { type Answer, claimsOf, PASSWORD, type ServerDriver } from "../test/support/flow.ts";
import { inOrder, isActive, isRefused, OTHER, WEB, WORKER } from "./checks.ts";
import { api, fromAnywhere, inTime, isLost, isSuccess, type Journal } from "./journal.ts";
import { ROBOT_KEY } from "./service.ts";

/** A client's own access token. */
export interface Access {
  readonly token: string;
  /** `unknown` when a revocation was not answered. */
  state: "live" | "revoked" | "unknown";
}

/** The refresh tokens of one grant, as their client sees them. */
export interface Family {
  /** The identifier of its first access token, which its audit record has too. */
  readonly jti: string;
  token: string;
  busy: boolean;
  /** Rotations that were answered, and those whose answer was lost, which the client repeats. */
  answered: number;
  lost: number;
  state: "live" | "refused" | "revoked" | "unknown";
}

/** What the load knows when it has ended. */
export interface Known {
  readonly tokens: Access[];
  /** Requests for a client's own token whose answer was lost. */
  lostTokens: number;
  readonly families: Family[];
}

interface User {
  readonly email: string;
  readonly browser: Browser;
  busy: boolean;
}

const USERS = 8;
const FAMILIES = 24;

/** How often of 100 requests each kind is sent. */
const MIX = {
  token: 30,
  refresh: 24,
  introspect: 12,
  revoke: 5,
  again: 8,
  code: 6,
  assertion: 5,
  signIn: 4,
  endFamily: 3,
  removeConsent: 3,
};
type Kind = keyof typeof MIX;
const KINDS = (Object.keys(MIX) as Kind[]).flatMap((kind) => Array<Kind>(MIX[kind]).fill(kind));

const oneOf = <Each>(each: readonly Each[]): Each | undefined => each[Math.floor(Math.random() * each.length)];

async function startFamily(site: ServerDriver, { browser }: User): Promise<Family> {
  const { access_token, refresh_token } = await site.tokens(WEB, browser, { scope: "openid" });
  return { jti: claimsOf(access_token).jti, token: refresh_token, busy: false, answered: 0, lost: 0, state: "live" };
}

/** Users who are signed in, and the requests of their clients. */
export async function prepareLoad(site: ServerDriver, journal: Journal) {
  const users: User[] = [];
  for (let n = 0; n < USERS; n += 1) users.push({ ...(await site.signedInUser()), busy: false });
  const user = (): User => oneOf(users) ?? users[0] ?? ({} as User);
  const known: Known = { tokens: [], lostTokens: 0, families: [] };
  for (let n = 0; n < FAMILIES; n += 1) known.families.push(await startFamily(site, user()));
  let starting = 0;
  /** Replaces families that have ended; while the service is down, a later request does. */
  const refill = async (): Promise<void> => {
    if (known.families.filter(({ state }) => state === "live").length + starting >= FAMILIES) return;
    starting += 1;
    try {
      known.families.push(await startFamily(site, user()));
    } finally {
      starting -= 1;
    }
  };
  const idle = (): Family | undefined => {
    const family = known.families.find(({ busy, state }) => !busy && state === "live");
    if (family === undefined) return undefined;
    known.families.splice(known.families.indexOf(family), 1);
    known.families.push(family); // the others come first next time
    family.busy = true;
    return family;
  };
  const { effects } = journal;

  const requests: Record<Kind, () => Promise<unknown>> = {
    async token() {
      const answer = await journal.ask("token", (front) => front.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" }));
      if (isSuccess(answer)) known.tokens.push({ token: answer.body.access_token, state: "live" });
      else known.lostTokens += 1;
    },
    async refresh() {
      await refill();
      const family = idle();
      if (family === undefined) return;
      // Only after a lost answer the token can have been used.
      const answer = await journal.ask("refresh", (front) => front.refresh(WEB, family.token), family.lost > 0 ? [400] : []);
      if (isSuccess(answer)) {
        family.token = answer.body.refresh_token;
        family.answered += 1;
      } else if (isLost(answer)) family.lost += 1;
      else family.state = "refused";
      family.busy = false;
    },
    async introspect() {
      const access = oneOf(known.tokens.slice(-500));
      if (access === undefined) return;
      const { state } = access;
      const answer = await journal.ask("introspect", (front) => front.introspect(WORKER, access.token));
      if (state === "unknown" || access.state !== state || !isSuccess(answer)) return;
      if (answer.body.active !== (state === "live")) journal.contradictions.push(`a ${state} token was active: ${answer.body.active}`);
    },
    async revoke() {
      const access = oneOf(known.tokens.slice(-500));
      if (access === undefined) return;
      if (access.state === "live") access.state = "unknown";
      const answer = await journal.ask("revoke", (front) => front.revoke(WORKER, access.token));
      if (isSuccess(answer)) access.state = "revoked";
    },
    /** Asks for something that happened a while ago. */
    async again() {
      const effect = oneOf(effects);
      if (effect === undefined) return;
      await journal.ask("again", async (front): Promise<Answer> => {
        const holds = await effect.holds(front);
        if (holds === false) journal.contradictions.push(`${effect.kind}: what was acknowledged did not hold`);
        return { status: holds === undefined ? 503 : 200, headers: new Headers({ "retry-after": "1" }), body: undefined };
      });
    },
    async code() {
      const code = await site.code(WEB, user().browser, { scope: "openid" });
      const redeem = (front: ServerDriver) => front.token(WEB, code);
      const answer = await journal.ask("code", redeem);
      if (isSuccess(answer)) effects.push({ kind: "code", holds: isRefused(redeem) });
    },
    async assertion() {
      const assertion = anAssertion(ROBOT_KEY, { clientId: "robot", audience: site.url, now: Math.floor(Date.now() / 1_000) });
      const fields = { scope: "notes:read", client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
      const request = (front: ServerDriver) => front.form("/oauth/token", { grant_type: "client_credentials", ...fields }, fromAnywhere());
      const answer = await journal.ask("assertion", request);
      if (isSuccess(answer)) effects.push({ kind: "assertion", holds: isRefused(request) });
    },
    signIn: () => journal.ask("sign-in", (front) => api(front, "/auth/login", { email: user().email, password: PASSWORD })),
    async endFamily() {
      const family = idle();
      if (family === undefined) return;
      family.state = "unknown";
      const answer = await journal.ask("revoke refresh token", (front) => front.revoke(WEB, family.token));
      if (isSuccess(answer)) family.state = "revoked";
      if (isSuccess(answer)) effects.push({ kind: "revocation", holds: isRefused((front) => front.refresh(WEB, family.token)) });
    },
    async removeConsent() {
      const one = users.find(({ busy }) => !busy);
      if (one === undefined) return;
      one.busy = true;
      const removed = await removeConsent(site, one, journal).finally(() => {
        one.busy = false;
      });
      users.push(...users.splice(users.indexOf(one), 1));
      if (removed !== undefined) effects.push({ kind: "removed consent", holds: removed });
    },
  };
  return { known, requests, browser: (): Browser => user().browser };
}

/** Gives a client access and takes it away. @returns what holds after that, unless an answer was lost */
async function removeConsent(site: ServerDriver, { browser }: User, journal: Journal) {
  const { access_token, refresh_token } = await site.tokens(OTHER, browser, { scope: "openid", prompt: "consent" });
  const { consents, csrfToken } = await (await browser.request("/consents/")).json();
  const { id } = consents.find(({ clientId }: { clientId: string }) => clientId === OTHER.clientId) ?? {};
  const answer = await journal.ask("remove consent", () =>
    browser.json(`/consents/${id}`, undefined, "DELETE", { "x-csrf-token": csrfToken }),
  );
  return isSuccess(answer)
    ? inOrder(
        isActive(OTHER, access_token, false),
        isRefused((front) => front.refresh(OTHER, refresh_token)),
      )
    : undefined;
}

/**
 * Sends requests at a constant rate until it is stopped. What could not be prepared, because the service was down, is left out.
 * @returns stops it, and says how many were left out
 */
export function startLoad(requests: Record<Kind, () => Promise<unknown>>, rate: number, leftOut: readonly Kind[] = []) {
  const kinds = KINDS.filter((kind) => !leftOut.includes(kind));
  const open = new Set<Promise<unknown>>();
  let unprepared = 0;
  const timer = setInterval(() => {
    const kind = oneOf(kinds) ?? "token";
    const request = inTime(requests[kind]())
      .catch(() => {
        unprepared += 1;
      })
      .finally(() => open.delete(request));
    open.add(request);
  }, 1_000 / rate);
  return async (): Promise<number> => {
    clearInterval(timer);
    await Promise.all(open);
    return unprepared;
  };
}
