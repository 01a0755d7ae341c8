import { type AdminClient, createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BUILT_IN_SCOPES } from "../../src/accounts/account.ts";
import { refusedWith } from "../support/admin.ts";
import { runText } from "../support/database.ts";
import { DEFAULT_REALM, type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let operator: AdminClient["operator"];
beforeAll(async () => {
  api = await startManagement();
  operator = createAdminClient({ url: api.url, token: (await managementUsers(api)).operator }).operator;
  const rows = "from generate_series(1, 3) as n";
  for (const insert of [
    `insert into realms (name) select 'realm ' || n ${rows}`,
    `insert into resources (realm_id, resource, name, scopes, clients, enabled, origin)
     select '${DEFAULT_REALM}', 'https://r' || n || '.example.test', 'Name ' || (9 - n), '[]', '{}', n > 1, case when n = 3 then 'file' else 'operator' end ${rows}`,
    `insert into connections (realm_id, name, title, protocol, issuer, client_id, auth_method, scopes, enabled)
     select '${DEFAULT_REALM}', 'provider-' || n, 'Provider ' || n, 'oidc', 'https://p' || n || '.example.test', 'x', 'none', '{}', n > 1 ${rows}`,
    `insert into workload_issuers (issuer, kind, algorithms, max_lifetime, single_use)
     select 'https://w' || n || '.example.test', case when n = 3 then 'kubernetes' else 'oidc' end, '{RS256}', 60, true ${rows}`,
    `insert into clients (client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
     select 'robot-' || n, '${DEFAULT_REALM}', 'operator', 'Robot', '{}', '{}', '{client_credentials}', '{}', 'workload_jwt' ${rows}`,
    `insert into workload_identities (issuer_id, client_id, subject)
     select workload_issuers.id, clients.id, 'job ' || right(client_id, 1) from workload_issuers, clients
     where issuer = 'https://w1.example.test' and token_endpoint_auth_method = 'workload_jwt'`,
    `insert into scope_descriptions (realm_id, name, title, detail) select '${DEFAULT_REALM}', 'crm:' || n, '{"en": "x"}', '{}' ${rows}`,
  ])
    await runText(api.database.sql, insert);
});
afterAll(() => api.close());

type Part = { readonly limit?: number; readonly cursor?: string; readonly order?: "asc" | "desc"; readonly sort?: never };
type ListPage = { readonly nextCursor: string | null; readonly total: number | null };

/** Reads all pages, of two rows each. @returns the total that the first one says, and its rows as a test names them */
const inPages =
  <Page extends ListPage>(list: (part: Part) => Promise<Page>, namesOf: (page: Page) => readonly string[]) =>
  async (part: Part): Promise<readonly (string | number | null)[]> => {
    const first = await list({ ...part, limit: 2 });
    const names = [...namesOf(first)];
    for (let cursor = first.nextCursor; cursor !== null; ) {
      const page = await list({ ...part, limit: 2, cursor });
      expect(page.total).toBeNull();
      names.push(...namesOf(page));
      cursor = page.nextCursor;
    }
    return [first.total, ...names];
  };

/** Inputs of each list, and what it then has. */
const LISTS: Readonly<Record<string, readonly (readonly [input: object, ...names: string[]])[]>> = {
  resources: [
    [{}, "https://r1.example.test", "https://r2.example.test", "https://r3.example.test"],
    [{ search: "NAME 7" }, "https://r2.example.test"],
    [{ enabled: false }, "https://r1.example.test"],
    [{ origin: "file" }, "https://r3.example.test"],
    [{ sort: "name" }, "https://r3.example.test", "https://r2.example.test", "https://r1.example.test"],
    [{ realmId: "no-uuid" }],
  ],
  connections: [
    [{}, "provider-1", "provider-2", "provider-3"],
    [{ search: "p2.example" }, "provider-2"],
    [{ enabled: false }, "provider-1"],
    [{ realmId: "no-uuid" }],
  ],
  workloadIssuers: [
    [{}, "https://w1.example.test", "https://w2.example.test", "https://w3.example.test"],
    [{ search: "w2" }],
    [{ search: "//W2" }, "https://w2.example.test"],
    [{ kind: "kubernetes" }, "https://w3.example.test"],
  ],
  workloadIdentities: [
    [{}, "robot-1: job 1", "robot-2: job 2", "robot-3: job 3"],
    [{ search: "JOB 3" }, "robot-3: job 3"],
    [{ clientId: "robot-2" }, "robot-2: job 2"],
    [{ issuer: "https://w1.example.test", order: "desc" }, "robot-3: job 3", "robot-2: job 2", "robot-1: job 1"],
    [{ issuer: "https://w2.example.test" }],
  ],
  realms: [
    [{ search: "realm 2" }, "realm 2"],
    [{ sort: "name", order: "desc" }, "realm 3", "realm 2", "realm 1", "default"],
  ],
  scopes: [
    [{}, "crm:1", "crm:2", "crm:3", ...BUILT_IN_SCOPES.map(({ name }) => `built-in ${name}`)],
    [{ search: "CRM:2" }, "crm:2"],
    [{ search: "openid" }, "built-in openid"],
  ],
};

const READ: Readonly<Record<string, ReturnType<typeof inPages>>> = {
  resources: inPages(
    (part) => operator.resources.list.query(part),
    ({ resources }) => resources.map(({ resource }) => resource),
  ),
  connections: inPages(
    (part) => operator.connections.list.query(part),
    ({ connections }) => connections.map(({ name }) => name),
  ),
  workloadIssuers: inPages(
    (part) => operator.workloadIssuers.list.query(part),
    ({ issuers }) => issuers.map(({ issuer }) => issuer),
  ),
  workloadIdentities: inPages(
    (part) => operator.workloadIdentities.list.query(part),
    ({ identities }) => identities.map(({ clientId, subject }) => `${clientId}: ${subject}`),
  ),
  realms: inPages(
    (part) => operator.realms.list.query(part),
    ({ realms }) => realms.map(({ name }) => name),
  ),
  scopes: inPages(
    (part) => operator.scopes.list.query(part),
    ({ scopes }) => scopes.map(({ name, builtIn }) => (builtIn ? `built-in ${name}` : name)),
  ),
};

test.for(Object.keys(LISTS))("%s are listed in pages, counted, searched, filtered and sorted", async (name) => {
  for (const [input, ...names] of LISTS[name] ?? [])
    expect([input, ...((await READ[name]?.(input)) ?? [])]).toEqual([input, names.length, ...names]);
});

test("a built-in scope that operators described is listed once", async () => {
  await operator.scopes.set.mutate({ name: "openid", title: { en: "Sign you in" } });
  const { scopes, total } = await operator.scopes.list.query({ search: "openid" });
  expect([scopes.map(({ builtIn }) => builtIn), total]).toEqual([[false], 1]);
  await operator.scopes.remove.mutate({ name: "openid" });
});

test("a cursor of another order is refused", async () => {
  const { nextCursor } = await operator.resources.list.query({ limit: 1 });
  const refused = operator.resources.list.query({ limit: 1, order: "desc", cursor: nextCursor ?? "" });
  expect(await refusedWith(refused)).toMatchObject({ error: "invalid_request" });
});

test("what cannot be created says whether its realm is missing or its name is taken", async () => {
  const resource = "https://new.example.test";
  const [known] = (await operator.resources.list.query({ limit: 1 })).resources;
  const provider = { preset: "google", clientId: "x" } as const;
  for (const realmId of ["no-uuid", "01900000-0000-7000-8000-00000000dead"])
    for (const create of [
      operator.resources.create.mutate({ realmId, resource }),
      operator.connections.create.mutate({ realmId, ...provider }),
    ]) {
      const refused = await create.catch((error: unknown) => error);
      expect(refused).toMatchObject({ message: "This realm does not exist.", data: { error: "not_found" } });
    }
  const namesakes = [
    operator.resources.create.mutate({ resource: known?.resource ?? "" }),
    operator.connections.create.mutate({ ...provider, name: "provider-1" }),
  ].map((create) => create.catch((error: unknown) => error));
  expect(await Promise.all(namesakes)).toMatchObject([
    { message: "This resource has a record already: update that one.", data: { error: "conflict" } },
    { message: "There is a connection of this name already, perhaps in another realm.", data: { error: "conflict" } },
  ]);
});

test("a secret for a connection that authenticates without one is refused", async () => {
  await operator.connections.create.mutate({ preset: "gitlab", clientId: "x", authMethod: "private_key_jwt" });
  const given = operator.connections.update.mutate({ name: "gitlab", clientSecret: "new" });
  expect(await refusedWith(given)).toMatchObject({
    error: "invalid_request",
    issues: [{ path: "clientSecret", message: "does not go with authMethod private_key_jwt" }],
  });
});
