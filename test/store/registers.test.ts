import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NewClient } from "../../src/clients/ports.ts";
import { publicJwk } from "../../src/core/signing/keys.ts";
import { clientDirectory } from "../../src/store/client-directory.ts";
import { clientRegistry } from "../../src/store/client-registry.ts";
import { keyRegister } from "../../src/store/key-register.ts";
import type { Database } from "../../src/store/orm.ts";
import { realms } from "../../src/store/realms.ts";
import { statement } from "../../src/store/sql.ts";
import { aHash, anAudit, anId, aUser, auditOf, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds } from "../support/database.ts";
import { aNewClient } from "../support/grants.ts";

const aKey = () => publicJwk(generateKeyPairSync("ed25519").publicKey);

describe.for(databaseKinds)("registers on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  describe("clients", () => {
    test("a client is found as it was registered", async () => {
      const owner = await aUser(database.sql);
      const client = aNewClient({
        clientId: "urn:example:weird/{}\",'client",
        ownerId: owner.id,
        origin: "developer",
        description: 'with \\ and " and ,{}',
        redirectUris: ["https://a.example.test/cb?x=1,2", "com.example.app:/cb", 'https://b.example.test/"'],
        grantTypes: ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"],
        tokenEndpointAuthMethod: "client_secret_basic",
        secretHash: aHash(),
        environment: "development",
        isAgent: true,
        maxAgentMode: "exec",
        audience: ["https://crm.example.test/mcp"],
        jwks: { keys: [{ ...aKey() }] },
      });
      const registered = await clientRegistry(database.sql).register(client, anAudit("client.registered", { clientId: client.clientId }));
      expect(registered).toEqual({
        ...client,
        secretHash: new Uint8Array(client.secretHash ?? []),
        createdAt: registered.createdAt,
        updatedAt: null,
        lastUsedAt: null,
      });
      expect(await clientDirectory(database.sql).byClientId(client.clientId)).toEqual(registered);
      expect(await auditOf(database.sql, "client.registered")).toContainEqual(expect.objectContaining({ client_id: client.clientId }));
    });

    test("what a member leaves empty stays empty: null is not the empty list", async () => {
      const open = await clientRegistry(database.sql).register(
        aNewClient({ redirectUris: [], audience: null }),
        anAudit("client.registered"),
      );
      const shut = await clientRegistry(database.sql).register(
        aNewClient({ audience: [], jwksUri: "https://k.example.test/" }),
        anAudit("client.registered"),
      );
      expect([open.audience, open.redirectUris, open.jwks, shut.audience, shut.jwksUri]).toEqual([
        null,
        [],
        null,
        [],
        "https://k.example.test/",
      ]);
    });

    test("of 20 registrations of one client_id one succeeds, the rest are told of the conflict", async () => {
      const clientId = `taken-${anId()}`;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, () =>
          clientRegistry(database.sql).register(aNewClient({ clientId }), anAudit("client.registered", { clientId })),
        ),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const refused = outcomes.filter((one) => one.status === "rejected");
      expect(refused.every(({ reason }) => reason.code === "conflict" && reason.reason === "client_id_taken")).toBe(true);
      expect((await auditOf(database.sql, "client.registered")).filter(({ client_id }) => client_id === clientId)).toHaveLength(1);
    });

    const impossible: readonly [string, Partial<NewClient>][] = [
      ["a public client with a secret", { tokenEndpointAuthMethod: "none", secretHash: aHash() }],
      ["a client without a grant", { grantTypes: [] }],
    ];
    test.for(impossible)("%s cannot be", async ([, more]) => {
      await expect(clientRegistry(database.sql).register(aNewClient(more), anAudit("client.registered"))).rejects.toMatchObject({
        code: "23514",
      });
    });

    test("many look-ups at once find each its own", async () => {
      const registered = await Promise.all(
        Array.from({ length: 20 }, () => clientRegistry(database.sql).register(aNewClient(), anAudit("client.registered"))),
      );
      const directory = clientDirectory(database.sql);
      const found = await Promise.all([...registered, ...registered].map(({ clientId }) => directory.byClientId(clientId)));
      expect(found).toEqual([...registered, ...registered]);
    });
  });

  describe("realms", () => {
    test("the default realm is there from the start and leaves its scopes to the deployment", async () => {
      const realm = { id: DEFAULT_REALM_ID, name: "default", dynamicRegistrationScopes: null };
      expect(await realms(database.sql).default()).toEqual(realm);
      expect(await realms(database.sql).byId(DEFAULT_REALM_ID)).toEqual(realm);
      expect(await realms(database.sql).byId(anId())).toBeUndefined();
      expect(await realms(database.sql).byId("\0")).toBeUndefined();
    });
  });

  describe("signing keys", () => {
    test("cores that publish at once all serve the union; a key that nobody has used for long is withdrawn", async () => {
      const [own, sibling, old] = [aKey(), aKey(), aKey()];
      const register = keyRegister(database.sql, 3_600);
      await Promise.all([register.publish([own, old], [own.kid]), register.publish([sibling, old], [sibling.kid])]);
      const served = await register.publish([own], [own.kid]);
      expect(served.map(({ kid }) => kid).sort()).toEqual([own.kid, sibling.kid, old.kid].sort());
      expect(served.find(({ kid }) => kid === own.kid)).toEqual(own);
      expect((await auditOf(database.sql, "key.published")).length).toBe(3);
      const age = statement(
        "test_age_keys",
        "update signing_keys set published_at = now() - interval '2 hours', in_use_at = in_use_at - interval '2 hours'",
      );
      await database.sql.query(age, []);
      expect((await register.publish([own], [own.kid])).map(({ kid }) => kid)).toEqual([own.kid]);
    });
  });
});
