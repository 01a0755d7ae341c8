import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NewClient } from "../../src/clients/ports.ts";
import { type Keys, openKeys } from "../../src/core/signing/key-ring.ts";
import { publicJwk, signingKey } from "../../src/core/signing/keys.ts";
import { clientDirectory, managedClients } from "../../src/store/clients.ts";
import { keyRegister, publishedKeys } from "../../src/store/key-register.ts";
import type { Database } from "../../src/store/orm.ts";
import { realms } from "../../src/store/realms.ts";
import { aHash, anAudit, anId, aUser, auditOf, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aNewClient } from "../support/grants.ts";

const aSigningKey = () => signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());
const aKey = () => publicJwk(generateKeyPairSync("ed25519").publicKey);

describe.for(databaseKinds)("clients, realms and signing keys on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  describe("clients", () => {
    test("a client is returned as it was registered", async () => {
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
      const registered = await managedClients(database.sql).register(client, anAudit("client.registered", { clientId: client.clientId }));
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

    test("null and the empty list stay distinct in a stored client", async () => {
      const open = await managedClients(database.sql).register(
        aNewClient({ redirectUris: [], audience: null }),
        anAudit("client.registered"),
      );
      const shut = await managedClients(database.sql).register(
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

    test("20 concurrent registrations of one client_id: exactly one succeeds, and the others are refused with conflict", async () => {
      const clientId = `taken-${anId()}`;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, () =>
          managedClients(database.sql).register(aNewClient({ clientId }), anAudit("client.registered", { clientId })),
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
    test.for(impossible)("refuses to store %s", async ([, more]) => {
      await expect(managedClients(database.sql).register(aNewClient(more), anAudit("client.registered"))).rejects.toMatchObject({
        code: "23514",
      });
    });

    test("40 concurrent look-ups each find their own client", async () => {
      const registered = await Promise.all(
        Array.from({ length: 20 }, () => managedClients(database.sql).register(aNewClient(), anAudit("client.registered"))),
      );
      const directory = clientDirectory(database.sql);
      const found = await Promise.all([...registered, ...registered].map(({ clientId }) => directory.byClientId(clientId)));
      expect(found).toEqual([...registered, ...registered]);
    });
  });

  describe("realms", () => {
    test("the default realm exists from the start, without registration scopes of its own", async () => {
      const realm = { id: DEFAULT_REALM_ID, name: "default", dynamicRegistrationScopes: null };
      expect(await realms(database.sql).default()).toEqual(realm);
      expect(await realms(database.sql).byId(DEFAULT_REALM_ID)).toEqual(realm);
      expect(await realms(database.sql).byId(anId())).toBeUndefined();
      expect(await realms(database.sql).byId("\0")).toBeUndefined();
    });
  });

  describe("signing keys", () => {
    /** Shifts the times of all keys into the past by `time`. */
    const pass = (time: string) => {
      const moved = ["published_at", "in_use_at", "configured_at"].map((column) => `${column} = ${column} - $1::interval`);
      return runText(database.sql, `update signing_keys set ${moved.join(", ")}`, [time]);
    };

    test("cores that publish keys concurrently all serve the union; a key unused for an hour is withdrawn", async () => {
      const [own, sibling, old] = [aKey(), aKey(), aKey()];
      const register = keyRegister(database.sql, 3_600);
      await Promise.all([register.publish([own, old], [own.kid]), register.publish([sibling, old], [sibling.kid])]);
      const served = await register.publish([own], [own.kid]);
      expect(served.map(({ jwk }) => jwk.kid).sort()).toEqual([own.kid, sibling.kid, old.kid].sort());
      expect(served.find(({ jwk }) => jwk.kid === own.kid)?.jwk).toEqual(own);
      expect((await auditOf(database.sql, "key.published")).length).toBe(3);
      await pass("2 hours");
      expect((await register.publish([own], [own.kid])).map(({ jwk }) => jwk.kid)).toEqual([own.kid]);
      await pass("2 hours"); // and no core serves it: a key that returns now is published again
      expect((await register.publish([own], [own.kid]))[0]?.age).toBeLessThan(60);
    });

    test("a configured key is served whether it signs or not, and keeps its age; 64 concurrent publications all succeed", async () => {
      const [own, coming] = [aKey(), aKey()];
      const register = keyRegister(database.sql, 3_600);
      for (let hour = 0; hour < 3; hour += 1) {
        await pass("50 minutes");
        await register.publish([own, coming], [own.kid]);
      }
      const published = async () => (await auditOf(database.sql, "key.published")).length;
      const before = await published();
      const all = await Promise.all(
        Array.from({ length: 64 }, (_, n) => register.publish(n % 2 === 0 ? [own, coming] : [coming, own], [own.kid])),
      );
      for (const served of all) expect(served.find(({ jwk }) => jwk.kid === coming.kid)?.age).toBeGreaterThan(5_900);
      expect(await published()).toBe(before);
    });

    test("operators see the state of each key: signing, published or withdrawn", async () => {
      const [own, coming, gone] = [aKey(), aKey(), aKey()];
      const register = keyRegister(database.sql, 3_600);
      const stateOf = async ({ kid }: { readonly kid: string }) =>
        (await publishedKeys(database.sql, 3_600).all()).find((key) => key.kid === kid)?.state;
      await register.publish([gone], [gone.kid]);
      await pass("2 hours");
      await register.publish([own, coming], [own.kid]);
      expect([await stateOf(own), await stateOf(coming), await stateOf(gone)]).toEqual(["signing", "published", "withdrawn"]);
      await pass("10 minutes");
      expect(await stateOf(own)).toBe("published");
    });

    test("of 8 operators who withdraw a key at once one leaves a record; it is never published again; a key that signs stays", async () => {
      const [own, stolen] = [aKey(), aKey()];
      const [register, operators] = [keyRegister(database.sql, 3_600), publishedKeys(database.sql, 3_600)];
      const withdraw = ({ kid }: { readonly kid: string }) => operators.withdraw(kid, anAudit("key.withdrawn"));
      const records = async () => (await auditOf(database.sql, "key.withdrawn")).length;
      const before = await records();
      await register.publish([own, stolen], [own.kid]);
      expect([await withdraw(own), await operators.withdraw("unknown", anAudit("key.withdrawn"))]).toEqual(["signs", undefined]);
      expect(new Set(await Promise.all(Array.from({ length: 8 }, () => withdraw(stolen))))).toEqual(new Set(["withdrawn"]));
      expect(await records()).toBe(before + 1);
      await pass("2 hours");
      const served = await register.publish([own, stolen], [own.kid, stolen.kid]);
      expect(served.filter(({ withdrawn }) => withdrawn).map(({ jwk }) => jwk.kid)).toEqual([stolen.kid]);
      expect((await operators.all()).find(({ kid }) => kid === stolen.kid)?.state).toBe("withdrawn");
    });

    test("R9: during a rolling key change each core signs with a key that has been published for 300 s, and all cores serve and verify both keys", async () => {
      const register = keyRegister(database.sql, 3_600);
      await pass("2 hours"); // so that all earlier keys are withdrawn
      const [old, young] = [aSigningKey(), aSigningKey()];
      const signerOf = (keys: Keys) => keys.current()?.accessToken.jwk.kid;
      const publishedBy = (keys: Keys) => new Set((JSON.parse(keys.jwksJson()).keys as { kid: string }[]).map(({ kid }) => kid));
      const both = new Set([old.jwk.kid, young.jwk.kid]);

      const first = await openKeys({ accessToken: [old] }, register);
      expect(signerOf(first)).toBe(old.jwk.kid); // the first core signs at once
      await pass("59 minutes"); // a key in use within the last hour is not withdrawn

      const rolled = await openKeys({ accessToken: [young, old] }, register);
      const bare = await openKeys({ accessToken: [young], published: [old.jwk] }, register);
      expect([signerOf(rolled), signerOf(bare)]).toEqual([old.jwk.kid, undefined]);
      expect(() => bare.signing()).toThrow(expect.objectContaining({ code: "temporarily_unavailable" }));
      await first.refresh();
      for (const core of [first, rolled, bare]) {
        expect(publishedBy(core)).toEqual(both);
        expect(core.byId(young.jwk.kid)).toBeDefined();
      }

      await pass("290 seconds");
      for (const core of [first, rolled, bare]) await core.refresh();
      expect([first, rolled, bare].map(signerOf)).toEqual([old.jwk.kid, old.jwk.kid, undefined]);
      await pass("10 seconds");
      for (const core of [first, rolled, bare]) await core.refresh();
      expect([first, rolled, bare].map(signerOf)).toEqual([old.jwk.kid, young.jwk.kid, young.jwk.kid]);

      const last = await openKeys({ accessToken: [young] }, register); // no core is configured with the old key now
      await pass("59 minutes");
      await last.refresh();
      expect(publishedBy(last)).toEqual(both);
      await pass("2 minutes");
      await last.refresh();
      expect(publishedBy(last)).toEqual(new Set([young.jwk.kid]));
      expect(last.byId(old.jwk.kid)).toBeUndefined();
    });
  });
});
