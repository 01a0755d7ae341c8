import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditEntry } from "../../src/audit.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { managedScopes, scopeDescriptions } from "../../src/store/consents.ts";
import type { Database } from "../../src/store/orm.ts";
import { provisioner } from "../../src/store/provisioning.ts";
import { realms } from "../../src/store/realms.ts";
import { databaseKinds } from "../support/database.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

const CHANGED: AuditEntry = { event: "scope.changed", outcome: "success", actor: { type: "user", id: "op" } };
const REMOVED: AuditEntry = { ...CHANGED, event: "scope.removed" };
const READ = { name: "crm:read", title: { en: "Read customers", de: "Kunden lesen" }, detail: { en: "Names and addresses." } };

describe.for(databaseKinds)("scope descriptions on $name", ({ fresh }) => {
  let database: Database;
  let realm: string;
  beforeAll(async () => {
    database = await fresh();
    realm = (await realms(database.sql).default()).id;
  });
  afterAll(() => database.close());

  const all = async (realmId: string) =>
    (await managedScopes(database.sql).list({ realmId }, { limit: 50 })).items.map(({ name, title, detail }) => ({ name, title, detail }));
  const recorded = async (name: string) =>
    (await auditTrail(database.sql).list({}, { limit: 200 })).items.filter(({ scope }) => scope === name).map(({ event }) => event);

  test("a description is set, replaced as a whole, and removed, per realm and scope", async () => {
    const managed = managedScopes(database.sql);
    expect(await managed.set(realm, READ, CHANGED)).toBe(true);
    expect(await all(realm)).toEqual([READ]);
    const words = await scopeDescriptions(database.sql).of(realm, ["crm:read", "crm:write", "\0"]);
    expect([...words]).toEqual([["crm:read", READ]]);
    const shorter = { ...READ, title: { de: "Kunden sehen" }, detail: {} };
    expect(await managed.set(realm, shorter, CHANGED)).toBe(true);
    expect(await all(realm)).toEqual([shorter]);
    expect([await managed.remove(realm, "crm:read", REMOVED), await managed.remove(realm, "crm:read", REMOVED)]).toEqual([true, false]);
    expect(await all(realm)).toEqual([]);
    expect(await recorded("crm:read")).toEqual(["scope.removed", "scope.changed", "scope.changed"]);
  });

  test("64 concurrent settings of the same description write one audit record", async () => {
    const managed = managedScopes(database.sql);
    const write = { ...READ, name: "crm:write" };
    expect(await Promise.all(Array.from({ length: 64 }, () => managed.set(realm, write, CHANGED)))).toEqual(Array(64).fill(true));
    expect(await recorded("crm:write")).toEqual(["scope.changed"]);
  });

  test("setting, removing and reading descriptions of an unknown realm returns nothing", async () => {
    const managed = managedScopes(database.sql);
    for (const unknownRealm of ["01900000-0000-7000-8000-00000000dead", "no-uuid"]) {
      expect([await managed.set(unknownRealm, READ, CHANGED), await managed.remove(unknownRealm, "crm:read", REMOVED)]).toEqual([
        false,
        false,
      ]);
      expect([(await scopeDescriptions(database.sql).of(unknownRealm, ["crm:read"])).size, await all(unknownRealm)]).toEqual([0, []]);
    }
  });

  test("provisioning applies descriptions, with one audit record each; an unknown realm rejects the whole file", async () => {
    const passwords = { hash: async () => "x", verify: async () => ({ kind: "right" }) };
    const apply = (file: object) =>
      provisioner(database.sql, passwords, { issuer: "https://id.example.test", box: A_SECRET_BOX }).apply(
        parseProvisionFile(JSON.stringify(file)),
      );
    const file = { realms: [{ name: "partners" }], scopes: [{ ...READ, name: "erp:read", realm: "partners" }] };
    expect((await apply(file)).scopes).toEqual({ created: 1, changed: 0, unchanged: 0 });
    expect((await apply(file)).scopes).toEqual({ created: 0, changed: 0, unchanged: 1 });
    expect(await recorded("erp:read")).toEqual(["scope.changed"]);
    expect(await apply({})).not.toHaveProperty("scopes");
    const wrong = { scopes: [READ, { ...READ, realm: "nowhere" }] };
    await expect(apply(wrong)).rejects.toMatchObject({
      reason: "realm_unknown",
      detail: { issues: [{ path: "scopes.1.realm", message: "names no realm" }] },
    });
    expect((await all(realm)).map(({ name }) => name)).not.toContain("crm:read");
  });
});
