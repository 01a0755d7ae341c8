import { aClient } from "./builders.ts";

const CALLBACK = "https://app.example.test/cb";
const scopes = ["openid", "profile", "email", "offline_access", "notes:read", "notes:write"];

/** Clients as people meet them. */
export const PEOPLE_CLIENTS = [
  aClient({ clientId: "web", name: "Field Notes", redirectUris: [CALLBACK], scopes, environment: "production" }),
  aClient({ clientId: "draft", name: "Draft", redirectUris: [CALLBACK], scopes, environment: "staging" }),
  aClient({
    clientId: "deceiver",
    name: "<img src=x onerror=alert(1)>\u202eknaB\u200d\u0007",
    origin: "dynamic",
    environment: null,
    tokenEndpointAuthMethod: "none",
    redirectUris: ["https://xn--pple-43d.example/cb", "http://127.0.0.1/cb"],
    scopes,
  }),
];

/** RFC 7636 appendix B. */
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** An authorization request; a member that is undefined is left out, a list is repeated. */
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
