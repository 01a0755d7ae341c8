import { ASSERTION_TYPE, anAssertion } from "../test/support/assertions.ts";
import { aBrowser, type Browser, formsOf, type Visit } from "../test/support/browser.ts";
import { type Answer, asAnswer, type ServerDriver } from "../test/support/flow.ts";
import { inOrder, isActive, isRefused, signsIn, WEB } from "./checks.ts";
import { api, type Check, fromAnywhere, inTime, isLost, type Journal } from "./journal.ts";
import type { preparedLinks } from "./prepared.ts";
import { ROBOT_KEY } from "./service.ts";

/** Something that only one of many requests may have. */
interface Contest {
  /** One of the requests, all of which are sent at once. */
  request(front: ServerDriver, n: number): Promise<Answer>;
  /** Statuses of those that get nothing. */
  readonly refusals: readonly number[];
  /** What an answer of success gives. Two different values are two winners. */
  prize(answer: Answer, n: number): string | undefined;
  /** What holds after the race. @param refused whether a request got nothing */
  after(winner: { readonly answer: Answer; readonly n: number }, refused: boolean): Check;
  /** What holds when nothing was won, which is right in this race. */
  readonly unwon?: Check;
}

export interface Surroundings {
  readonly journal: Journal;
  readonly site: ServerDriver;
  /** A browser in which a user is signed in. */
  browser(): Browser;
  readonly links: ReturnType<typeof preparedLinks>;
}

export const RACES = ["code", "refresh", "assertion", "verification", "reset", "invitation", "consent", "revocation"] as const;
export type RaceKind = (typeof RACES)[number];

const passwordOf = (n: number): string => `correct horse battery ${n}`;
/** After a race for a password: the winner's is right, and the next caller's is not. */
const passwordIs = (email: string, n: number): Check => inOrder(signsIn(email, passwordOf(n), 200), signsIn(email, passwordOf(n + 1), 401));

const CONTESTS: Record<RaceKind, (around: Surroundings) => Promise<Contest>> = {
  async code({ site, browser }) {
    const code = await site.code(WEB, browser(), { scope: "openid" });
    const request = (front: ServerDriver) => front.token(WEB, code);
    return {
      request,
      refusals: [400],
      prize: ({ body }) => body.access_token,
      // A code that is presented again ends what its first use began.
      after: ({ answer }, refused) => inOrder(...(refused ? [isActive(WEB, answer.body.access_token, false)] : []), isRefused(request)),
    };
  },
  async refresh({ site, browser }) {
    const { refresh_token: token } = await site.tokens(WEB, browser(), { scope: "openid" });
    const request = (front: ServerDriver) => front.refresh(WEB, token);
    return {
      request,
      refusals: [400],
      prize: ({ body }) => body.refresh_token,
      after: ({ answer: { body } }, refused) =>
        inOrder(...(refused ? [isRefused((front) => front.refresh(WEB, body.refresh_token))] : []), isRefused(request)),
    };
  },
  async assertion({ site }) {
    const assertion = anAssertion(ROBOT_KEY, { clientId: "robot", audience: site.url, now: Math.floor(Date.now() / 1_000) });
    const fields = {
      grant_type: "client_credentials",
      scope: "notes:read",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: assertion,
    };
    const request = (front: ServerDriver) => front.form("/oauth/token", fields, fromAnywhere());
    return {
      request,
      refusals: [401],
      prize: ({ body }) => body.access_token,
      after: () => isRefused(request),
    };
  },
  async verification({ links }) {
    const { token } = await links.next("verification");
    const request = (front: ServerDriver) => front.get(`/auth/verify?token=${token}`, fromAnywhere());
    return { request, refusals: [400], prize: (_, n) => `${n}`, after: () => isRefused(request) };
  },
  async reset({ links }) {
    const { email, token } = await links.next("reset");
    const request = (front: ServerDriver, n = 0) => api(front, "/auth/reset-password", { token, password: passwordOf(n) });
    return {
      request,
      refusals: [400],
      prize: (_, n) => `${n}`,
      after: ({ n }) =>
        inOrder(
          isRefused((front) => request(front, n + 1)),
          passwordIs(email, n),
        ),
    };
  },
  async invitation({ site, links }) {
    const { email, token } = await links.next("invitation");
    const browser = aBrowser(site.url);
    const page = await browser.follow(`/invitation?token=${token}`);
    const form = formOf(page);
    const [action, cookies] = [new URL(form.action, site.url).pathname, cookieHeader(browser)];
    const request = async (front: ServerDriver, n = 0) =>
      asAnswer(
        await fetch(new URL(action, front.url), {
          method: "POST",
          redirect: "manual",
          headers: { ...fromAnywhere(), ...cookies, origin: new URL(site.url).origin },
          body: new URLSearchParams({ ...form.fields, email, password: passwordOf(n) }),
        }),
      );
    return {
      request,
      refusals: [400],
      prize: (_, n) => `${n}`,
      after: ({ n }) =>
        inOrder(
          isRefused((front) => request(front, n + 1)),
          passwordIs(email, n),
        ),
    };
  },
  async consent({ site, browser }) {
    const owner = browser();
    const { challenge } = site.pkce();
    const page = await owner.follow(site.authorizeUrl(WEB, { code_challenge: challenge, scope: "openid", prompt: "consent" }));
    const form = formOf(page);
    const [action, cookies] = [new URL(form.action, site.url).pathname, cookieHeader(owner)];
    const request = async (front: ServerDriver, n = 0) =>
      asAnswer(
        await fetch(new URL(action, front.url), {
          method: "POST",
          redirect: "manual",
          headers: { ...cookies, origin: new URL(site.url).origin },
          body: new URLSearchParams({ ...form.fields, decision: n % 2 === 0 ? "approve" : "deny" }),
        }),
      );
    return {
      request,
      refusals: [400],
      prize: ({ headers }) => decisionIn(headers.get("location")),
      // The other decision comes too late.
      after: ({ n }) => isRefused((front) => request(front, n + 1)),
    };
  },
  async revocation({ site, browser }) {
    const { refresh_token: token } = await site.tokens(WEB, browser(), { scope: "openid" });
    const refresh = (front: ServerDriver) => front.refresh(WEB, token);
    return {
      request: (front, n) => (n === 0 ? refresh(front) : front.revoke(WEB, token)),
      refusals: [400],
      prize: ({ body }) => body?.refresh_token,
      after: ({ answer: { body } }) =>
        inOrder(
          isRefused((front) => front.refresh(WEB, body.refresh_token)),
          isActive(WEB, body.access_token, false),
        ),
      unwon: isRefused(refresh),
    };
  },
};

const redirected = (location: string | null): URLSearchParams | undefined =>
  location !== null && URL.canParse(location) ? new URL(location).searchParams : undefined;

/** The redirect to the client with the decision. A path leads back to sign-in or to the form: then nothing was won. */
function decisionIn(location: string | null): string | undefined {
  const answer = redirected(location);
  return answer?.has("code") || answer?.get("error") === "access_denied" ? (location ?? undefined) : undefined;
}

/** A redirect says `temporarily_unavailable` (RFC 6749 §4.1.2.1) where another answer says 503: the decision may have been taken. */
const isLostDecision = (answer: Answer | undefined): boolean =>
  redirected(answer?.headers.get("location") ?? null)?.get("error") === "temporarily_unavailable";

/** What an answer was, without codes and tokens. */
function outcomeOf(answer: Answer | undefined): string {
  const location = answer?.headers.get("location") ?? null;
  const to = location === null ? "" : ` ${redirected(location)?.get("error") ?? location.split("?")[0]}`;
  return `${answer?.status ?? "no answer"}${to}`;
}

/** @throws {Error} where the page is another one, because the service was down */
function formOf({ html, url, status }: Visit) {
  const [form] = formsOf(html, url);
  if (form === undefined || status !== 200) throw new Error(`no form at ${url}: ${status}`);
  return form;
}

const cookieHeader = ({ cookies }: Browser): Record<string, string> => ({
  cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
});

/** Holds one race, and notes who won. A race that could not be prepared, because the service was down, is left out. */
export async function race(kind: RaceKind, callers: number, around: Surroundings): Promise<void> {
  const { journal } = around;
  const contest = await inTime(CONTESTS[kind](around)).catch(() => undefined);
  if (contest === undefined) return;
  const answers = await Promise.all(
    Array.from({ length: callers }, (_, n) => journal.ask(`race: ${kind}`, (front) => contest.request(front, n), contest.refusals)),
  );
  const prizes = new Map<string, { answer: Answer; n: number }>();
  for (const [n, answer] of answers.entries()) {
    if (answer === undefined || answer.status >= 400) continue;
    const prize = contest.prize(answer, n);
    if (prize !== undefined) prizes.set(prize, { answer, n });
  }
  const lost = answers.filter((answer) => isLost(answer) || isLostDecision(answer)).length;
  const refused = answers.some((answer) => answer !== undefined && contest.refusals.includes(answer.status));
  journal.races.push({ kind, answered: callers - lost, lost, winners: prizes.size, outcomes: answers.map(outcomeOf) });
  for (const winner of prizes.values()) journal.effects.push({ kind, holds: contest.after(winner, refused) });
  if (prizes.size === 0 && contest.unwon !== undefined && lost === 0) journal.effects.push({ kind, holds: contest.unwon });
}
