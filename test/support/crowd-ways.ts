import type { Browser } from "./browser.ts";
import type { ServerDriver, TestClient } from "./flow.ts";

/** Pseudo-random numbers from 0 to 1, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const TOKEN = "urn:ietf:params:oauth:token-type:access_token";
export const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const CALLBACK = "https://app.example.test/cb";
const SCOPES = ["openid", "email", "offline_access", "crm:read"];
export const client = (clientId: string): TestClient => ({ clientId, secret: `${clientId}-secret`, redirectUri: CALLBACK });
export const [WEB, RESOURCE_SERVER] = [client("web"), client("crm-rs")];
export const AGENTS = ["agent-1", "agent-2"];

const provisioned = (clientId: string, more: object) => ({
  clientId,
  clientSecret: `${clientId}-secret`,
  name: clientId,
  scopes: ["crm:read"],
  tokenEndpointAuthMethod: "client_secret_basic",
  environment: "production",
  grantTypes: ["client_credentials", EXCHANGE],
  ...more,
});

export const CROWD = {
  users: [{ email: "operator@example.test", password: "operator password 1", emailVerified: true, role: "operator" }],
  clients: [
    provisioned("web", {
      grantTypes: ["authorization_code", "refresh_token"],
      scopes: SCOPES,
      redirectUris: [CALLBACK],
      maxAgentMode: "exec",
    }),
    ...AGENTS.map((agent) => provisioned(agent, { isAgent: true, maxAgentMode: "exec" })),
    provisioned("crm-rs", { grantTypes: ["client_credentials"], audience: ["https://crm.example.test/mcp"] }),
  ],
};

/** A user, with all tokens and clients that they have received. */
export interface Member {
  readonly email: string;
  readonly id: string;
  /** One browser for each front, with the same cookies. */
  readonly browsers: readonly Browser[];
  password: string;
  readonly bearers: string[];
  readonly refreshTokens: string[];
  readonly accessTokens: string[];
  readonly ownClients: { readonly id: string; readonly as: TestClient }[];
}

/** The actions of a crowd's members, each at a random front. */
export function actionsOf(fronts: readonly ServerDriver[], random: () => number) {
  const pick = <Thing>(things: readonly Thing[]): Thing | undefined => things[Math.floor(random() * things.length)];
  const front = (): ServerDriver => pick(fronts) as ServerDriver;
  let operator = "";

  const call = async (
    method: string,
    path: string,
    bearer: string | undefined,
    body?: object,
  ): Promise<{ status: number; body: never }> => {
    const headers = { "content-type": "application/json", ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) };
    const response = await fetch(`${front().url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, body: (text.startsWith("{") ? JSON.parse(text) : {}) as never };
  };
  const asOperator = (procedure: string, input: object) => call("POST", `/trpc/operator.${procedure}`, operator, input);
  const browserOf = (member: Member) => pick(member.browsers) as Browser;
  const accountPageHandler = async (member: Member, path: string, entries: Record<string, string>): Promise<readonly number[]> => {
    const browser = browserOf(member);
    const page = await browser.follow(path);
    if (!page.url.endsWith(path) || !Object.keys(entries).every((name) => page.html.includes(`name="${name}"`))) return [page.status];
    return [page.status, (await browser.submit(page, entries)).status];
  };
  const signIn = async (member: Member, at = browserOf(member)) => {
    const { status, body } = await at.json("/auth/login", { email: member.email, password: member.password });
    if (status === 200) member.bearers.push(body.access_token);
    return status;
  };
  const redeem = async (member: Member, as: TestClient, code: Record<string, string | undefined>, times: number) => {
    const answers = await Promise.all(Array.from({ length: times }, () => front().token(as, code)));
    const taken = answers.filter(({ status }) => status === 200);
    for (const { body } of taken) {
      member.accessTokens.push(body.access_token);
      if (as === WEB) member.refreshTokens.push(body.refresh_token);
    }
    return { statuses: answers.map(({ status }) => status), taken: taken.length };
  };
  const visitFor = async (browser: Browser, url: string) => {
    const visit = await browser.follow(url);
    return visit.html.includes('name="decision"') ? browser.submit(visit, { decision: "approve" }) : visit;
  };
  /** Authorizes and approves; signs in first where the user was signed out. */
  const codeFor = async (member: Member, as: TestClient, browser = browserOf(member)) => {
    const resource = as === WEB ? ["https://crm.example.test/mcp", ...AGENTS] : undefined;
    const scope = as === WEB ? "openid crm:read offline_access" : "openid";
    const { verifier, challenge } = front().pkce();
    const url = front().authorizeUrl(as, { code_challenge: challenge, scope, resource });
    let visit = await visitFor(browser, url);
    if (visit.html.includes('name="password"') && (await signIn(member, browser)) === 200) visit = await visitFor(browser, url);
    const code = new URL(visit.url).searchParams.get("code");
    const fields = code === null ? undefined : { grant_type: "authorization_code", code, redirect_uri: CALLBACK, code_verifier: verifier };
    return { status: visit.status, fields };
  };

  const leave = (member: Member) => accountPageHandler(member, "/account/delete", {});

  const operatorSignsIn = async (): Promise<void> => {
    const login = { email: "operator@example.test", password: "operator password 1" };
    operator = ((await call("POST", "/auth/login", undefined, login)).body as { access_token: string }).access_token;
  };

  return { pick, front, call, asOperator, operatorSignsIn, browserOf, accountPageHandler, signIn, redeem, codeFor, leave };
}
