import { spawnSync } from "node:child_process";
import { pbkdf2Sync, randomUUID, scryptSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import argon2 from "argon2";
import bcrypt from "bcrypt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { blocksOf, commandsOf } from "../support/documents.ts";
import { PASSWORD } from "../support/flow.ts";
import { scratch } from "../support/packed.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { runAll } from "../support/shell.ts";

const DOCUMENT = "docs/migrating.md";
const COMMAND = join(import.meta.dirname, "../../bin/countersign");
const { dir, remove } = scratch();
let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  for (const { name, code } of blocksOf(DOCUMENT)) if (name !== undefined) writeFileSync(join(dir, name), code);
});
afterAll(async () => {
  await server.close();
  remove();
});

/** Runs the commands of a section beside a file, which they read. @returns what they print */
function follow(section: string, file: string, content: string): Promise<string> {
  writeFileSync(join(dir, file), content);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_EMAIL: OPERATOR.email, COUNTERSIGN_PASSWORD: OPERATOR.password };
  return runAll(commandsOf(DOCUMENT, section, { "npx countersign": COMMAND }), dir, { ...env, XDG_CONFIG_HOME: dir, NODE_ENV: "test" });
}

/** Runs a program of the document. @returns its status, what it prints, and what it says */
function convert(program: string, input: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], { cwd: dir, input, encoding: "utf8" });
  return { status, printed: stdout.trim().split("\n"), said: stderr };
}

/** The user who signs in with the password of these tests. */
const signedIn = async (email: string) => (await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD })).status;
const idOf = async (email: string) =>
  (await runText<{ id: string }>(server.database.sql, "select id from users where email = $1", [email]))[0]?.id;

const SALT = Buffer.from("sixteen bytes !!");

/** A password as Keycloak exports it. */
const ofKeycloak = (algorithm: string, hashIterations: number, key: Uint8Array, additionalParameters: object = {}) => [
  { type: "otp", secretData: '{"value":"secret"}', credentialData: '{"subType":"totp"}' },
  {
    type: "password",
    secretData: JSON.stringify({ value: Buffer.from(key).toString("base64"), salt: SALT.toString("base64"), additionalParameters: {} }),
    credentialData: JSON.stringify({ hashIterations, algorithm, additionalParameters }),
  },
];
const pbkdf2 = (iterations: number, digest: string) => pbkdf2Sync(PASSWORD, SALT, iterations, 64, digest);

test("users of a Keycloak keep their passwords, whichever way it hashed them, and their ids", async () => {
  const cost = { hashLength: ["32"], memory: ["7168"], type: ["id"], version: ["1.3"], parallelism: ["1"] };
  const raw = await argon2.hash(PASSWORD, { memoryCost: 7168, timeCost: 5, parallelism: 1, hashLength: 32, salt: SALT, raw: true });
  const credentials = {
    argon2: ofKeycloak("argon2", 5, raw, cost),
    sha512: ofKeycloak("pbkdf2-sha512", 210_000, pbkdf2(210_000, "sha512")),
    sha256: ofKeycloak("pbkdf2-sha256", 27_500, pbkdf2(27_500, "sha256")),
    sha1: ofKeycloak("pbkdf2", 20_000, pbkdf2(20_000, "sha1")),
  };
  const users = Object.entries(credentials).map(([name, of]) => ({
    ...{ id: randomUUID(), username: name, email: `${name}@keycloak.test`, emailVerified: true, firstName: name, lastName: " " },
    ...{ enabled: true, credentials: of, realmRoles: ["offline_access"] },
  }));
  const others = [
    { username: "no-address" },
    { username: "empty-address", email: "" },
    { username: "service-account-job", email: "job@keycloak.test", serviceAccountClientId: "job" },
  ];
  expect(await follow("keycloak", "acme-realm.json", JSON.stringify({ users: [...users, ...others] }))).toBe("Imported 4 users.\n");
  const names = "select distinct last_name from users where email like '%@keycloak.test'";
  expect(await runText(server.database.sql, names)).toEqual([{ last_name: null }]);
  for (const { id, email } of users) expect([email, await idOf(email), await signedIn(email)]).toEqual([email, id, 200]);
});

test("users of Auth0 keep their passwords", async () => {
  const user = {
    _id: { $oid: "60425dc43519d90068f82973" },
    email: "ada@auth0.test",
    email_verified: true,
    passwordHash: await bcrypt.hash(PASSWORD, 4),
  };
  await follow("auth0", "export.json", `${JSON.stringify({ ...user, connection: "Username-Password-Authentication" })}\n`);
  expect(await signedIn("ada@auth0.test")).toBe(200);
});

test("passwords of a Keycloak that are in another form are left out, and their users named", () => {
  const password = { type: "password", secretData: "{}" };
  const users = [
    { username: "ada", email: "ada@form.test", credentials: [{ ...password, hashedSaltedValue: "c2FsdA==", algorithm: "pbkdf2" }] },
    { username: "bob", email: "bob@form.test", credentials: [{ ...password, credentialData: '{"algorithm":"argon2"}' }] },
    { username: "eve", email: "eve@form.test", credentials: null },
  ];
  const { status, printed, said } = convert("keycloak-users.mjs", JSON.stringify({ users }));
  expect([status, printed.map((line) => JSON.parse(line).passwordHash)]).toEqual([0, [undefined, undefined, undefined]]);
  const sentence = "the password is in another form, and is left out";
  expect(said).toBe(`ada: ${sentence}\nbob: ${sentence}\n`);
});

test("lines of Auth0 that are no user with an address are named, and the others converted", () => {
  const lines = ['{"phone_number":"+4930"}', "", "{", "null", '{"email":"last@auth0.test"}'];
  const { status, printed, said } = convert("auth0-users.mjs", lines.join("\n"));
  expect([status, printed]).toEqual([1, ['{"email":"last@auth0.test","role":"user"}']]);
  expect(said).toBe("line 1: has no address, and is left out\nline 3: is not a user as JSON\nline 4: is not a user as JSON\n");
});

test.for([
  ["keycloak-users.mjs", '{"realm":"acme"}', /^The file has no users: .+\n$/],
  ["keycloak-clients.mjs", '{"realm":"acme"}', /^The file has no clients: .+\n$/],
  ["hydra-clients.mjs", '{"error":"no"}', /^The file has no clients: .+\n$/],
  ["keycloak-users.mjs", "{", /^.*JSON.*\n$/],
  ["keycloak-clients.mjs", '{"clients":[{"clientId":"a","enabled":true,"serviceAccountsEnabled":true}]}', /^a: no secret; .+\n$/],
] as const)("%s refuses %s in one sentence", ([program, input, sentence]) => {
  expect(convert(program, input)).toEqual({ status: 1, printed: [""], said: expect.stringMatching(sentence) });
});

test("users of better-auth keep their passwords", async () => {
  const { sql } = server.database;
  const salt = "00112233445566778899aabbccddeeff";
  const key = scryptSync(PASSWORD, salt, 64, { cost: 16_384, blockSize: 16, parallelization: 1, maxmem: 2 ** 26 }).toString("hex");
  await runText(sql, 'create table "user" (id text, name text, email text, "emailVerified" boolean)');
  await runText(sql, 'create table account ("userId" text, "providerId" text, password text)');
  await runText(
    sql,
    "insert into \"user\" values ('a', 'Ada', 'ada@better.test', true), ('b', '', 'bob@better.test', false), ('c', 'Cleo', 'cleo@better.test', true)",
  );
  await runText(sql, "insert into account values ('a', 'credential', $1), ('b', 'github', null), ('c', 'credential', $2)", [
    `${salt}:${key}`,
    await bcrypt.hash(PASSWORD, 4),
  ]);
  const query = blocksOf(DOCUMENT).find(({ language }) => language === "sql")?.code ?? "";
  const rows = await runText<Record<string, unknown>>(sql, query.replace(/;\s*$/, ""));
  for (const table of ['"user"', "account"]) await runText(sql, `drop table ${table}`);
  const lines = rows.map((row) => JSON.stringify(Object.values(row)[0]));
  writeFileSync(join(dir, "better.ndjson"), lines.join("\n"));
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_EMAIL: OPERATOR.email, COUNTERSIGN_PASSWORD: OPERATOR.password };
  await runAll([`${COMMAND} users import better.ndjson`], dir, { ...env, XDG_CONFIG_HOME: dir });
  const statuses = ["ada", "bob", "cleo"].map((name) => signedIn(`${name}@better.test`));
  expect(await Promise.all(statuses)).toEqual([200, 401, 200]);
});

test("clients of a Keycloak keep their ids and secrets", async () => {
  const web = {
    clientId: "shop",
    name: "Shop",
    enabled: true,
    secret: "of-keycloak",
    rootUrl: "https://shop.example",
    redirectUris: ["/cb", "/*"],
  };
  const attributes = {
    "post.logout.redirect.uris": "https://shop.example/bye##/left##+",
    "oauth2.device.authorization.grant.enabled": "true",
    "backchannel.logout.url": "https://shop.example/ended",
    "backchannel.logout.session.required": "true",
  };
  const clients = [
    { clientId: "account", enabled: true, standardFlowEnabled: true },
    {
      ...web,
      attributes,
      standardFlowEnabled: true,
      defaultClientScopes: ["web-origins", "profile", "email"],
      optionalClientScopes: ["offline_access"],
    },
    {
      ...{ clientId: "spa", enabled: true, publicClient: true, standardFlowEnabled: true, redirectUris: ["https://spa.example/"] },
      attributes: { "backchannel.logout.url": "http://spa.internal/ended" },
    },
    { clientId: "job", enabled: true, secret: "of-the-job", serviceAccountsEnabled: true, defaultClientScopes: ["basic", "jobs:run"] },
    { clientId: "api", enabled: true, bearerOnly: true },
    { ...web, clientId: "saml", protocol: "saml", standardFlowEnabled: true },
  ];
  const said = await follow("clients-of-keycloak", "acme-realm.json", JSON.stringify({ clients }));
  expect(said).toContain("clients");
  const stored = await runText(
    server.database.sql,
    `select client_id, redirect_uris, post_logout_redirect_uris, grant_types, token_endpoint_auth_method, scopes,
       backchannel_logout_uri, backchannel_logout_session_required
     from clients where client_id in ('account', 'shop', 'spa', 'job', 'api', 'saml') order by client_id`,
  );
  const device = "urn:ietf:params:oauth:grant-type:device_code";
  expect(stored).toMatchObject([
    { client_id: "job", grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_basic" },
    {
      ...{ client_id: "shop", redirect_uris: ["https://shop.example/cb"], grant_types: ["authorization_code", "refresh_token", device] },
      post_logout_redirect_uris: ["https://shop.example/bye", "https://shop.example/left", "https://shop.example/cb"],
      scopes: ["openid", "profile", "email", "offline_access"],
      ...{ backchannel_logout_uri: "https://shop.example/ended", backchannel_logout_session_required: true },
    },
    { client_id: "spa", token_endpoint_auth_method: "none", backchannel_logout_uri: null },
  ]);
  const authorization = `Basic ${Buffer.from("job:of-the-job").toString("base64")}`;
  const token = await server.form("/oauth/token", { grant_type: "client_credentials", scope: "jobs:run" }, { authorization });
  expect([token.status, token.body.scope]).toEqual([200, "jobs:run"]);
});

test("clients of an Ory Hydra keep their ids, and get new secrets", async () => {
  const common = {
    client_name: "",
    redirect_uris: [],
    audience: [],
    owner: "",
    client_secret_expires_at: 0,
    skip_consent: false,
    jwks: {},
  };
  const items = [
    {
      ...{
        ...common,
        client_id: "hydra-web",
        client_name: "Web",
        scope: "openid offline notes:read",
        token_endpoint_auth_method: "client_secret_post",
      },
      grant_types: ["authorization_code", "refresh_token", "implicit"],
      ...{ redirect_uris: ["https://web.example/cb", "https://*.web.example/cb"], post_logout_redirect_uris: ["https://web.example/bye"] },
      ...{ backchannel_logout_uri: "https://web.example/ended", backchannel_logout_session_required: true },
    },
    {
      ...common,
      client_id: "hydra-job",
      scope: "jobs:run",
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "client_secret_basic",
    },
    { ...common, client_id: "hydra-old", scope: "openid", grant_types: ["implicit"], token_endpoint_auth_method: "none" },
  ];
  await follow("clients-of-ory-hydra", "hydra.json", JSON.stringify(items));
  const stored = await runText(
    server.database.sql,
    `select client_id, name, redirect_uris, post_logout_redirect_uris, grant_types, token_endpoint_auth_method, scopes, backchannel_logout_uri
     from clients where client_id like 'hydra-%' order by client_id`,
  );
  expect(stored).toMatchObject([
    { client_id: "hydra-job", name: "hydra-job", grant_types: ["client_credentials"], scopes: ["jobs:run"], backchannel_logout_uri: null },
    {
      ...{
        client_id: "hydra-web",
        name: "Web",
        redirect_uris: ["https://web.example/cb"],
        grant_types: ["authorization_code", "refresh_token"],
      },
      ...{ post_logout_redirect_uris: ["https://web.example/bye"], token_endpoint_auth_method: "client_secret_post" },
      ...{ scopes: ["openid", "offline_access", "notes:read"], backchannel_logout_uri: "https://web.example/ended" },
    },
  ]);
  const { clients } = JSON.parse(readFileSync(join(dir, "clients.json"), "utf8"));
  const { clientSecret } = clients.find(({ clientId }: { readonly clientId: string }) => clientId === "hydra-job");
  const authorization = `Basic ${Buffer.from(`hydra-job:${clientSecret}`).toString("base64")}`;
  const token = await server.form("/oauth/token", { grant_type: "client_credentials", scope: "jobs:run" }, { authorization });
  expect([token.status, token.body.scope]).toEqual([200, "jobs:run"]);
});

test.for([undefined, "**********"])("a client of a Keycloak whose secret is %s in the export is not provisioned", async (secret) => {
  const client = { clientId: "masked", enabled: true, secret, serviceAccountsEnabled: true };
  await expect(follow("clients-of-keycloak", "acme-realm.json", JSON.stringify({ clients: [client] }))).rejects.toThrow(
    "masked: no secret",
  );
  expect(await runText(server.database.sql, "select 1 from clients where client_id = 'masked'")).toEqual([]);
});
