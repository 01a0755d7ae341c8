import type { Parameter, Sql } from "../../src/store/sql.ts";
import { anId, DEFAULT_REALM_ID } from "./accounts.ts";
import { runText } from "./database.ts";
import { delegating } from "./delegation-rows.ts";

/** A name as a stranger may choose it, and as no rule may have kept out: markup, an override of direction, templates, nothing to break a line at. */
const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u202eknaB\u200d{{7*7}}\${7*7}${"w".repeat(180)}`;
const SCRIPT = `javascript:document.title='owned'//${HOSTILE}`;
const RESOURCE = "https://x.example/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E'$(id)`id`";
const DOCUMENT = `https://x.example/${HOSTILE}`;
const REQUEST = "hostile-request";
const PLATFORM = "00000000-0000-7000-8000-00000000feed";
const REALM = "00000000-0000-7000-8000-00000000beef";

/** What strangers could have written about a user, two clients and a refused request, past the rules that keep it out. */
const textsOf = (user: string, client: string, agent: string): readonly (readonly [string, readonly Parameter[]])[] => [
  [
    "update clients set name = $1, description = $1, redirect_uris = array[$2], scopes = array[$1] where client_id = any ($3)",
    [HOSTILE, SCRIPT, [client, agent]],
  ],
  ["update users set email = $1, email_key = $1, first_name = $1, last_name = $1 where id = $2", [HOSTILE, user]],
  ["update sessions set address = $1, browser = $1, system = $1 where user_id = $2", [HOSTILE, user]],
  ["update consents set client_name = $1, scopes = array[$1], resources = array[$2] where user_id = $3", [HOSTILE, SCRIPT, user]],
  ["insert into identity_links (issuer, subject, user_id, email) values ($2, $1, $3, $1)", [HOSTILE, SCRIPT, user]],
  ["insert into agent_pauses (id, agent, paused_by_type, paused_by, reason) values ($2, $3, 'user', $1, $1)", [HOSTILE, anId(), agent]],
  [
    "insert into invitations (id, token_hash, email, email_key, role, expires_at) values ($2, '\\x00', $1, $1, 'developer', now() + interval '1 day')",
    [HOSTILE, anId()],
  ],
  [
    "insert into passkeys (id, user_id, credential_id, public_key, counter, transports, backed_up, aaguid, name) values ($2, $3, '\\x00', '\\x00', 0, '{}', false, '', $1)",
    [HOSTILE, anId(), user],
  ],
  [
    "insert into client_documents (client_id, version, digest, document) values ($1, 1, '\\x00', $2), ($1, 2, '\\x01', $3)",
    [DOCUMENT, JSON.stringify({ client_name: "a" }), JSON.stringify({ client_name: HOSTILE, [HOSTILE]: SCRIPT })],
  ],
  [
    "insert into realms (id, name, branding) values ($2, $1, $3::jsonb)",
    [HOSTILE, REALM, JSON.stringify({ name: HOSTILE, accent: SCRIPT, support: SCRIPT, termsUrl: SCRIPT })],
  ],
  [
    "insert into connections (id, realm_id, name, protocol, issuer, title, client_id, auth_method, scopes, domains, trusts_acr, enabled) values ($2, $3, 'hostile', 'oidc', $4, $1, $1, 'none', array[$1], array[$1], false, true)",
    [HOSTILE, anId(), DEFAULT_REALM_ID, SCRIPT],
  ],
  [
    "insert into workload_issuers (id, issuer, kind, algorithms, max_lifetime, single_use) values ($1, $2, 'oidc', '{RS256}', 3600, true)",
    [PLATFORM, SCRIPT],
  ],
  [
    `insert into workload_identities (id, issuer_id, client_id, subject, claims)
    select $1, $2, id, $3, jsonb_build_object($3::text, $3::text) from clients where client_id = $4`,
    [anId(), PLATFORM, HOSTILE, agent],
  ],
  ["update clients set token_endpoint_auth_method = 'workload_jwt' where client_id = $1", [agent]],
  [
    "insert into resources (id, realm_id, resource, name, scopes, clients, enabled, origin) values ($2, $3, $4, $1, $5::jsonb, '{registered}', true, 'operator')",
    [HOSTILE, anId(), DEFAULT_REALM_ID, RESOURCE, JSON.stringify([{ name: HOSTILE, title: {}, detail: {} }])],
  ],
  [
    `insert into audit_records (id, event, outcome, reason, actor_type, actor_id, user_id, client_id, grant_type, scope, resources, act_chain, jti, address, request_id, rule, error, workload_issuer, workload_subject, note)
    values ($2, 'token.refused', 'failure', $1, 'client', $1, $3, $4, $1, $1, array[$1], array[$1], $1, $1, $5, $1, $1, $1, $1, $1)`,
    [HOSTILE, anId(), user, client, REQUEST],
  ],
];

/**
 * Stores texts of attackers wherever there is a text that strangers choose.
 * @returns the paths of all screens of the console, those that show these texts among them
 */
export async function loadHostile(sql: Sql): Promise<readonly string[]> {
  const { scene, agent } = await delegating(() => sql).aChain();
  for (const [text, parameters] of textsOf(scene.userId, scene.clientId, agent)) await runText(sql, text, parameters);
  const idOf = async (clientId: string) =>
    (await runText<{ id: string }>(sql, "select id::text from clients where client_id = $1", [clientId]))[0]?.id;
  const client = `/clients/${await idOf(scene.clientId)}`;
  const resource = `/resources/view?uri=${encodeURIComponent(RESOURCE)}`;
  const tabs = (path: string, ...names: string[]) => [path, ...names.map((name) => `${path}${path.includes("?") ? "&" : "?"}tab=${name}`)];
  return [
    "/",
    "/clients",
    "/clients?q=nothing-has-this-name",
    "/clients?unused=90",
    "/clients/new",
    "/clients/new?kind=agent",
    ...tabs(client, "try", "consents", "keys", "audit"),
    ...tabs(`/clients/document?client=${encodeURIComponent(DOCUMENT)}`, "consents", "audit"),
    "/resources",
    "/resources/new",
    ...tabs(resource, "scopes", "settings", "refusals", "doctor"),
    "/agents",
    `/agents/${await idOf(agent)}`,
    "/users",
    `/users/${scene.userId}`,
    "/audit",
    "/explain",
    `/explain?request=${REQUEST}`,
    "/keys",
    "/connections",
    "/connections/new",
    "/connections/view?name=hostile",
    "/workloads",
    `/workloads/view?uri=${encodeURIComponent(SCRIPT)}`,
    `/clients/${await idOf(agent)}?tab=workloads`,
    "/realms",
    `/realms/${REALM}`,
    "/settings",
    "/none",
  ];
}
