import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory } from "../../src/store/client-directory.ts";
import type { Database } from "../../src/store/orm.ts";
import { provisioner } from "../../src/store/provisioning.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import { databaseKinds } from "../support/database.ts";
import { aCode, anOpenFamily, aScene } from "../support/grants.ts";

/** Hashes that can be told apart at a glance; what is stored and when is the matter here, not how hard it is to guess. */
const passwords = {
  hash: async (password: string) => `hash of ${password}`,
  verify: async (hash: string | null | undefined, password: string) => ({ kind: hash === `hash of ${password}` ? "right" : "wrong" }),
};

const plan = (more: object) => parseProvisionFile(JSON.stringify(more));
const none = { created: 0, changed: 0, unchanged: 0 };

describe.for(databaseKinds)("provisioning on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const apply = (more: object) => provisioner(database.sql, passwords).apply(plan(more));

  test("a file applied by several processes at once is applied once, and a second time changes nothing", async () => {
    const file = {
      realms: [{ name: "partners", dynamicRegistrationScopes: ["openid"] }],
      users: [{ email: "op@example.test", password: "correct horse battery", role: "operator" }],
      clients: [
        {
          clientId: "crm-agent",
          clientSecret: "a secret of more than thirty-two characters",
          name: "CRM agent",
          scopes: ["crm:read"],
          grantTypes: ["client_credentials"],
          tokenEndpointAuthMethod: "client_secret_basic",
          ownerEmail: "OP@example.test",
          jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] },
        },
      ],
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => apply(file)));
    const summaries = outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(summaries.filter(({ clients }) => clients.created === 1)).toHaveLength(1);
    const unchanged = { ...none, unchanged: 1 };
    expect(await apply(file)).toEqual({ realms: unchanged, users: unchanged, clients: unchanged });
    const owner = await users(database.sql).byEmail("op@example.test");
    expect(owner?.user.role).toBe("operator");
    expect(await clientDirectory(database.sql).byClientId("crm-agent")).toMatchObject({ origin: "operator", ownerId: owner?.user.id });
  });

  test("a new password ends what the old one opened: sessions, codes and refresh families", async () => {
    const scene = await aScene(database.sql);
    const person = await users(database.sql).byId(scene.userId);
    const code = await aCode(database.sql, scene);
    const { family } = await anOpenFamily(database.sql, scene);
    expect((await apply({ users: [{ email: person?.email, password: "another horse battery" }] })).users).toEqual({ ...none, changed: 1 });
    expect(await sessions(database.sql).byHash(scene.sessionHash)).toBeUndefined();
    expect(await authorizationCodes(database.sql).byHash(code)).toBeUndefined();
    expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toMatchObject({ revoked: true });
    expect((await users(database.sql).byEmail(person?.email ?? ""))?.passwordHash).toBe("hash of another horse battery");
  });
});
