import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { aBrowser, type Browser, type Visit } from "./browser.ts";
import { untilAnswered } from "./until-answered.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a body is looked into member by member, and a wrong guess fails the test.
  readonly body: any;
}

export const asAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") === true && text !== "";
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
};

type FormValue = string | readonly string[] | undefined;

export function formBody(fields: Record<string, FormValue>): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) for (const each of value === undefined ? [] : [value].flat()) body.append(name, each);
  return body;
}

export const basicAuth = (clientId: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString("base64")}`;

/** How a client authenticates in a test: Basic with a secret, or only by its client_id. */
export interface TestClient {
  readonly clientId: string;
  readonly secret?: string;
  readonly redirectUri: string;
}

export const PASSWORD = "correct horse battery staple";

/** All that a test does with a running server over HTTP. */
export function serverDriver(url: string, outbox: string) {
  const form = async (path: string, fields: Record<string, FormValue>, headers: Record<string, string> = {}): Promise<Answer> =>
    asAnswer(await fetch(new URL(path, url), { method: "POST", body: formBody(fields), headers, redirect: "manual" }));

  const as = (client: TestClient): Record<string, string> =>
    client.secret === undefined ? {} : { authorization: basicAuth(client.clientId, client.secret) };

  const token = (client: TestClient, fields: Record<string, FormValue>): Promise<Answer> =>
    form("/oauth/token", { ...(client.secret === undefined && { client_id: client.clientId }), ...fields }, as(client));

  const introspect = (client: TestClient, accessToken: string): Promise<Answer> =>
    form("/oauth/introspect", { token: accessToken }, as(client));
  const revoke = (client: TestClient, value: string): Promise<Answer> => form("/oauth/revoke", { token: value }, as(client));
  const userinfo = async (accessToken: string): Promise<Answer> =>
    asAnswer(await fetch(new URL("/oauth/userinfo", url), { headers: { authorization: `Bearer ${accessToken}` } }));
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    asAnswer(await fetch(new URL(path, url), { headers, redirect: "manual" }));

  const mailTo = (email: string): string | undefined =>
    (existsSync(outbox) ? readdirSync(outbox, { withFileTypes: true }) : [])
      .filter((entry) => entry.isFile() && entry.name.endsWith(".eml"))
      .map((entry) => readFileSync(join(outbox, entry.name), "utf8"))
      .filter((text) => text.toLowerCase().includes(`to: ${email.toLowerCase()}`))
      .at(-1);

  /** The token of the link in the last mail to an address, once it has arrived. @param path of the link, where there was an earlier one */
  async function verificationToken(email: string, path = ""): Promise<string> {
    for (let tries = 0; tries < 1_200; tries++) {
      const found = mailTo(email)?.replaceAll("=\r\n", "").replaceAll("=\n", "").replaceAll("=3D", "=");
      const value = new RegExp(`${path}[?&]token=([0-9a-f]{64})`).exec(found ?? "")?.[1];
      if (value !== undefined) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`no verification mail to ${email}`);
  }

  /** A new account with a verified address, signed in by a browser. */
  async function signedInUser(members: { email?: string; firstName?: string; lastName?: string; verified?: boolean } = {}) {
    const email = members.email ?? `p-${randomBytes(6).toString("hex")}@example.test`;
    const browser = aBrowser(url);
    const registered = await untilAnswered(() => browser.json("/auth/register", { email, password: PASSWORD }));
    if (registered.status !== 201) throw new Error(`not registered: ${registered.status} ${JSON.stringify(registered.body)}`);
    if (members.verified !== false) await get(`/auth/verify?token=${await verificationToken(email)}`);
    const login = await untilAnswered(() => browser.json("/auth/login", { email, password: PASSWORD }));
    if (login.status !== 200) throw new Error(`not signed in: ${login.status} ${JSON.stringify(login.body)}`);
    return { email, id: registered.body.id as string, browser, login: login.body };
  }

  const pkce = () => {
    const verifier = randomBytes(32).toString("base64url");
    return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
  };

  const authorizeUrl = (client: TestClient, fields: Record<string, FormValue>): string =>
    `/oauth/authorize?${formBody({ response_type: "code", client_id: client.clientId, redirect_uri: client.redirectUri, code_challenge_method: "S256", state: "st", ...fields })}`;

  /** Authorizes as a signed-in user who approves. @returns the parameters of the redirect to the client */
  async function authorize(
    client: TestClient,
    browser: Browser,
    fields: Record<string, FormValue> = {},
  ): Promise<URLSearchParams & { verifier?: string }> {
    const { verifier, challenge } = pkce();
    let visit: Visit = await browser.follow(authorizeUrl(client, { code_challenge: challenge, ...fields }));
    if (visit.html.includes('name="decision"')) visit = await browser.submit(visit, { decision: "approve" });
    const at = visit.url.indexOf("?");
    if (!visit.url.startsWith(client.redirectUri) || at === -1)
      throw new Error(`no redirect to the client: ${visit.status} ${visit.url} ${visit.html.slice(0, 300)}`);
    return Object.assign(new URLSearchParams(visit.url.slice(at + 1)), { verifier });
  }

  /** An authorization code, with the other parameters of its redemption. */
  async function code(client: TestClient, browser: Browser, fields: Record<string, FormValue> = {}) {
    const params = await authorize(client, browser, fields);
    const value = params.get("code");
    if (value === null) throw new Error(`no code: ${params}`);
    return { grant_type: "authorization_code", code: value, redirect_uri: client.redirectUri, code_verifier: params.verifier };
  }

  /** Tokens by authorization, consent and redemption. */
  async function tokens(client: TestClient, browser: Browser, fields: Record<string, FormValue> = {}): Promise<Answer["body"]> {
    const answer = await token(client, await code(client, browser, fields));
    if (answer.status !== 200) throw new Error(`no tokens: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  const refresh = (client: TestClient, refreshToken: string, fields: Record<string, FormValue> = {}): Promise<Answer> =>
    token(client, { grant_type: "refresh_token", refresh_token: refreshToken, ...fields });

  return {
    url,
    form,
    get,
    token,
    introspect,
    revoke,
    userinfo,
    signedInUser,
    authorizeUrl,
    authorize,
    code,
    tokens,
    refresh,
    pkce,
    verificationToken,
    mailTo,
  };
}

export type ServerDriver = ReturnType<typeof serverDriver>;

/** The claims of a JWT, unverified. */
// biome-ignore lint/suspicious/noExplicitAny: claims are looked into one by one.
export const claimsOf = (jwt: string): any => JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString());
// biome-ignore lint/suspicious/noExplicitAny: as above.
export const headerOf = (jwt: string): any => JSON.parse(Buffer.from(jwt.split(".")[0] ?? "", "base64url").toString());
