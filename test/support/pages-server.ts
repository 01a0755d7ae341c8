import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runText } from "./database.ts";
import { startServer } from "./server.ts";

const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
const CALLBACK = "https://app.example.test/cb";
const scopes = ["openid", "profile", "email", "offline_access", "notes:read", "notes:write"];
const app = { redirectUris: [CALLBACK], scopes, grantTypes: ["authorization_code", "refresh_token"], tokenEndpointAuthMethod: "none" };

/** Clients as users see them. */
const CLIENTS = [
  { ...app, clientId: "web", name: "Field Notes", environment: "production" },
  { ...app, clientId: "draft", name: "Draft", environment: "staging" },
  { ...app, clientId: "device", name: "Field Notes", environment: "development", redirectUris: ["http://127.0.0.1/cb"] },
  {
    ...app,
    clientId: "television",
    name: "Field Notes on the wall",
    grantTypes: [DEVICE_CODE],
    redirectUris: [],
    environment: "production",
  },
];

/** A client name with markup, bidirectional override and control characters. */
const DECEIVING = "<img src=x onerror=alert(1)>\u202eknaB\u200d\u0007";

/** The text of a mail, quoted-printable or plain, as far as these tests need to decode it. */
const decoded = (mail: string): string => mail.replaceAll(/=\r?\n/g, "").replaceAll("=3D", "=");

/** A server with these clients. It trusts X-Forwarded-For, so that each test can have rate limits of its own. */
export async function startPagesServer(env: Readonly<Record<string, string>> = {}) {
  const server = await startServer({ env: { TRUST_PROXY: "true", ...env }, provision: { users: [], clients: CLIENTS } });
  const outbox = join(server.dataDir, "outbox");

  /** The mails to an address, once there are at least that many. */
  async function mailsTo(email: string, atLeast = 0): Promise<readonly string[]> {
    for (let tries = 0; tries < 400; tries++) {
      const entries = existsSync(outbox) ? readdirSync(outbox, { withFileTypes: true }) : [];
      const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".eml"));
      const mails = files
        .map(({ name }) => decoded(readFileSync(join(outbox, name), "utf8")))
        .filter((mail) => mail.includes(`To: ${email}`));
      if (mails.length >= atLeast) return mails;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`fewer than ${atLeast} mails to ${email}`);
  }

  /** The verification token of the newest mail, once there are that many. */
  async function tokenFor(email: string, mails = 1): Promise<string> {
    return /token=([0-9a-f]{64})/.exec((await mailsTo(email, mails)).at(-1) ?? "")?.[1] ?? "";
  }

  /** A dynamically registered client with a deceptive name, from before such names were rejected. */
  async function registerDeceiver(): Promise<string> {
    const redirect_uris = ["https://xn--pple-43d.example/cb", "http://127.0.0.1/cb"];
    const body = JSON.stringify({ client_name: "Bank", redirect_uris, token_endpoint_auth_method: "none" });
    const response = await fetch(`${server.url}/oauth/register`, { method: "POST", body, headers: { "content-type": "application/json" } });
    const { client_id } = (await response.json()) as { client_id: string };
    await runText(server.database.sql, "update clients set name = $2 where client_id = $1", [client_id, DECEIVING]);
    return client_id;
  }

  /** The token of the only password reset link, once there are that many mails. */
  async function resetTokenFor(email: string, mails: number): Promise<string> {
    const all = (await mailsTo(email, mails)).join("\n");
    return /\/reset\?token=([0-9a-f]{64})/.exec(all)?.[1] ?? "";
  }

  /** The code that a device shows. */
  async function userCode(): Promise<string> {
    return (await server.form("/oauth/device_authorization", { client_id: "television", scope: "openid notes:read" })).body.user_code;
  }

  const { url, database, close } = server;
  return { url, database, close, mailsTo, tokenFor, resetTokenFor, registerDeceiver, userCode };
}

export type PagesServer = Awaited<ReturnType<typeof startPagesServer>>;

/** RFC 7636 appendix B. */
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** The path of an authorization request; undefined members are omitted, lists are repeated. */
export function authorizePath(members: Record<string, string | readonly string[] | undefined> = {}): string {
  const query = new URLSearchParams();
  const all = {
    response_type: "code",
    client_id: "web",
    redirect_uri: CALLBACK,
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    scope: "openid notes:read",
    state: "st&1",
    ...members,
  };
  for (const [name, value] of Object.entries(all)) for (const each of value === undefined ? [] : [value].flat()) query.append(name, each);
  return `/oauth/authorize?${query}`;
}
