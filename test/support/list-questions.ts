import { createHash } from "node:crypto";
import { DELEGATION_SORTS } from "../../src/accounts/delegations.ts";
import { CLIENT_SORTS, IDENTITY_SORTS, WORKLOAD_ISSUER_SORTS } from "../../src/clients/ports.ts";
import { REALM_SORTS, USER_SORTS } from "../../src/management/ports.ts";
import type { Page, Part } from "../../src/paging.ts";
import { RESOURCE_SORTS } from "../../src/resources/ports.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { managedClients } from "../../src/store/clients.ts";
import { managedConnections } from "../../src/store/connections.ts";
import { clientConsents, managedScopes } from "../../src/store/consents.ts";
import { delegationRepository } from "../../src/store/delegation-repository.ts";
import { managedRealms } from "../../src/store/realms.ts";
import { resourceRefusals } from "../../src/store/resource-refusals.ts";
import { managedResources } from "../../src/store/resources.ts";
import type { Sql } from "../../src/store/sql.ts";
import { managedUsers } from "../../src/store/users.ts";
import { managedIdentities, managedIssuers } from "../../src/store/workloads.ts";
import { CONNECTION_SORTS } from "../../src/upstream/ports.ts";
import { DEFAULT_REALM } from "./management.ts";

const md5 = (text: string): string => createHash("md5").update(text).digest("hex");

const COUNTED = { limit: 50, count: true } as const;
const EVERYONE = { kind: "everyone" } as const;

/** The first three pages of a list in each order. */
async function inEachOrder<Sort extends string>(sorts: readonly Sort[], list: (part: Part<Sort>) => Promise<Page<unknown>>): Promise<void> {
  for (const order of ["asc", "desc"] as const)
    for (const sort of sorts) {
      let cursor: string | undefined;
      for (let count = 0; count < 3; count++) cursor = (await list({ limit: 50, sort, order, cursor })).next ?? undefined;
    }
}

/** Every filter, sort and search of the lists of clients and users, with common and rare values, as the console asks. */
export async function largestLists(sql: Sql): Promise<void> {
  const [clients, users] = [managedClients(sql), managedUsers(sql)];
  for (const filter of [
    {},
    { ownerId: "00000000-0010-7000-8000-000000000001" },
    { origin: "built_in" },
    { environment: "staging" },
    { enabled: false },
    { isAgent: true },
    { search: "listed-ffff" },
    { search: "Client" },
    { search: "no such client" },
    { search: "zq" },
  ] as const)
    await clients.list(filter, COUNTED);
  for (const filter of [
    {},
    { role: "operator" },
    { role: "developer" },
    { enabled: false },
    { emailVerified: false },
    { search: "abcdef" },
    { search: "name" },
    { search: "no such user" },
    { search: "zq" },
  ] as const)
    await users.list(filter, COUNTED);
  await inEachOrder(CLIENT_SORTS, (part) => clients.list({}, part));
  await inEachOrder(USER_SORTS, (part) => users.list({}, part));
}

/** Of the lists of records that operators add, every filter by which there may be many and every sort. A search reads those of one realm. */
export async function furtherLists(sql: Sql): Promise<void> {
  const realmId = DEFAULT_REALM;
  const [resources, connections, identities] = [managedResources(sql), managedConnections(sql), managedIdentities(sql)];
  await inEachOrder(RESOURCE_SORTS, (part) => resources.list({ realmId }, part));
  for (const filter of [{}, { realmId }]) await inEachOrder(CONNECTION_SORTS, (part) => connections.list(filter, part));
  await inEachOrder(REALM_SORTS, (part) => managedRealms(sql).list({}, part));
  await inEachOrder(["name"], (part) => managedScopes(sql).list({ realmId }, part));
  await inEachOrder(WORKLOAD_ISSUER_SORTS, (part) => managedIssuers(sql).list({}, part));
  for (const filter of [{}, { issuer: "https://workloads-1.example.test" }, { clientId: `listed-${md5("100")}` }])
    await inEachOrder(IDENTITY_SORTS, (part) => identities.list(filter, part));
  await identities.list({ search: "abcdef" }, COUNTED);
}

/** Lists whose rows cost more than a table's, and those that are written by hand. */
export async function joinedLists(sql: Sql): Promise<void> {
  await resourceRefusals(sql).list(DEFAULT_REALM, "https://r-1.example.test", COUNTED);
  await resourceRefusals(sql).reasons(DEFAULT_REALM, "https://r-1.example.test");
  await managedUsers(sql).addresses(["00000000-0010-7000-8000-000000000001"]);
  await clientConsents(sql).list("client-1", {}, COUNTED);
  const { list, groups, agentsOf } = delegationRepository(sql);
  await inEachOrder(DELEGATION_SORTS, (part) => list(EVERYONE, {}, part));
  for (const filter of [{ agent: "client-1" }, { userId: "00000000-0010-7000-8000-000000000001" }] as const)
    await list(EVERYONE, filter, COUNTED);
  await groups({ kind: "agent", clientId: "client-1" });
  await groups({ kind: "user", id: "00000000-0010-7000-8000-000000000001" });
  await groups({ kind: "grant", id: "00000000-0010-7000-8000-000000000005" });
  await agentsOf("00000000-0010-7000-8000-000000000001");
  await agentPauses(sql).ofUser("00000000-0010-7000-8000-000000000001");
}
