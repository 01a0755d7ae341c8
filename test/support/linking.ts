import { expect } from "vitest";
import { aBrowser, type Browser } from "./browser.ts";
import { runText } from "./database.ts";
import type { TestServer } from "./server.ts";
import { untilAnswered } from "./until-answered.ts";
import type { Wallet } from "./wallet.ts";

export interface LinkingUser {
  readonly browser: Browser;
  readonly csrf: string;
  readonly id: string;
  readonly email: string;
}

export interface Begun {
  readonly handle: string;
  readonly invocation_uri: string;
  readonly expires_at: number;
}

/** Users who link wallets at a server, and the responses that they get. */
export function linkingAt(server: TestServer, at: string = server.url) {
  let users = 0;

  async function signIn(email: string, password: string): Promise<{ browser: Browser; csrf: string }> {
    const browser = aBrowser(at);
    await untilAnswered(() => browser.json("/auth/login", { email, password }));
    const { csrfToken } = (await (await browser.request("/consents/")).json()) as { csrfToken: string };
    return { browser, csrf: csrfToken };
  }
  async function aUser(): Promise<LinkingUser> {
    const [email, password] = [`wallet${++users}@departmentwithalongname.example.test`, "correct horse battery"];
    const { body } = await untilAnswered(() => aBrowser(at).json("/auth/register", { email, password }));
    return { ...(await signIn(email, password)), id: body.id, email };
  }
  const start = ({ browser }: Pick<LinkingUser, "browser">, headers: Record<string, string> = {}): Promise<Response> =>
    browser.request("/auth/link/wallet", { method: "POST", headers });
  async function begin(user: Pick<LinkingUser, "browser" | "csrf">): Promise<Begun> {
    const response = await start(user, { "x-csrf-token": user.csrf });
    expect(response.status).toBe(200);
    return (await response.json()) as Begun;
  }
  async function poll({ browser }: Pick<LinkingUser, "browser">, handle: string) {
    const response = await browser.request(`/auth/link/wallet/${handle}`);
    return { status: response.status, body: (await response.json()) as { status?: string; message?: string } };
  }
  /** The reasons of a user's refused links, oldest first. */
  const refusals = async (user: Pick<LinkingUser, "id">): Promise<readonly string[]> =>
    (
      await runText<{ reason: string }>(
        server.database.sql,
        "select reason from audit_records where event = 'wallet.refused' and user_id = $1 order by id",
        [user.id],
      )
    ).map(({ reason }) => reason);
  /** Makes a user's links expire. */
  const letExpire = (user: Pick<LinkingUser, "id">) =>
    runText(server.database.sql, "update wallet_links set expires_at = now() - interval '1 second' where user_id = $1::uuid", [user.id]);
  /** A complete link by an honest wallet. */
  async function link(user: LinkingUser, wallet: Wallet, credential: string) {
    const { handle, invocation_uri } = await begin(user);
    await wallet.answer(invocation_uri, credential);
    return poll(user, handle);
  }
  return { signIn, aUser, start, begin, poll, refusals, letExpire, link };
}

export type Linking = ReturnType<typeof linkingAt>;
