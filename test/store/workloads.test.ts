import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAX_IDENTITIES, workloadDefaults } from "../../src/clients/workload.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import type { Database } from "../../src/store/orm.ts";
import { provisioner } from "../../src/store/provisioning.ts";
import { managedIdentities, managedIssuers, workloadDirectory } from "../../src/store/workloads.ts";
import { anAudit } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

const CI = "https://ci.example.test";
const DOMAIN = "spiffe://acme.example";
const passwords = { hash: async () => "x", verify: async () => ({ kind: "wrong" as const }) };
const robot = (clientId: string, more: object = {}) => ({
  clientId,
  name: clientId,
  grantTypes: ["client_credentials"],
  tokenEndpointAuthMethod: "workload_jwt",
  ...more,
});

describe.for(databaseKinds)("workloads on $name", ({ fresh }) => {
  let database: Database;
  const apply = (file: object) =>
    provisioner(database.sql, passwords, { issuer: "https://id.example.test", box: A_SECRET_BOX }).apply(
      parseProvisionFile(JSON.stringify(file)),
    );
  const issuers = () => managedIssuers(database.sql);
  const identified = () => managedIdentities(database.sql);
  const identities = async (clientId: string, issuer?: string) => (await identified().list({ clientId, issuer }, { limit: 50 })).items;
  const assign = (clientId: string, subject: string, claims: Record<string, string> = {}, issuer = CI) =>
    identified().assign(clientId, { issuer, subject, claims }, anAudit("workload_identity.added"));
  const reasonOf = (call: Promise<unknown>) =>
    call.then(
      () => "done",
      (error: { reason?: string }) => error.reason,
    );

  beforeAll(async () => {
    database = await fresh();
    await apply({
      workloadIssuers: [
        { issuer: CI, kind: "oidc" },
        { issuer: DOMAIN, kind: "spiffe", bundleEndpoint: "https://spire.example/bundle" },
      ],
      clients: [robot("one"), robot("two"), robot("many"), robot("keyed", { tokenEndpointAuthMethod: "none" })],
    });
  });
  afterAll(() => database.close());

  test("of one identity for two clients, 32 times at once, one is stored", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, n) => reasonOf(assign(n % 2 === 0 ? "one" : "two", "raced", { b: "2", a: 'quoted "\\ ü' }))),
    );
    expect(outcomes.toSorted()).toEqual(["done", ...Array.from({ length: 31 }, () => "workload_identity_taken")]);
    expect(await reasonOf(assign("one", "raced", { a: 'quoted "\\ ü', b: "2" }))).toBe("workload_identity_taken");
    expect(await reasonOf(assign("one", "raced", { a: "other", b: "2" }))).toBe("done");
  });

  test("a client has no more identities than it may, however many come at once", async () => {
    const outcomes = await Promise.all(Array.from({ length: MAX_IDENTITIES + 10 }, (_, n) => reasonOf(assign("many", `subject-${n}`))));
    expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(MAX_IDENTITIES);
  });

  test("refuses identities that could never match", async () => {
    expect(await reasonOf(assign("unknown", "x"))).toBe("client_unknown");
    for (const [clientId, subject, issuer] of [
      ["keyed", "x", CI],
      ["one", "x", "https://stranger.example"],
      ["one", "repo:acme/*", CI],
      ["one", "spiffe://other.example/x", DOMAIN],
    ] as const)
      expect(await reasonOf(assign(clientId, subject, {}, issuer))).toBe("workload_identity_invalid");
  });

  test("a token's subject finds its platform with the identities that it matches", async () => {
    await assign("one", `${DOMAIN}/agents/*`, {}, DOMAIN);
    await assign("two", `${DOMAIN}/agents/desk`, {}, DOMAIN);
    const { find, configured } = workloadDirectory(database.sql);
    const [all, some, none, strangers, unstorable] = await Promise.all([
      find([DOMAIN, CI], `${DOMAIN}/agents/desk`),
      find([DOMAIN], `${DOMAIN}/agents/eu/desk`),
      find([DOMAIN], `${DOMAIN}/agents`),
      find(["https://stranger.example"], "x"),
      find([CI], "\0"),
    ]);
    const clientsOf = (found: typeof all) =>
      found.map(({ issuer, identities }) => [issuer, identities.map(({ clientId }) => clientId).toSorted()]);
    expect(clientsOf(all).toSorted()).toEqual([
      [CI, []],
      [DOMAIN, ["one", "two"]],
    ]);
    expect(clientsOf(some)).toEqual([[DOMAIN, ["one"]]]);
    expect([clientsOf(none), strangers, unstorable]).toEqual([[[DOMAIN, []]], [], []]);
    expect(some[0]).toMatchObject({ kind: "spiffe", bundleEndpoint: "https://spire.example/bundle", singleUse: false, maxLifetime: 3_600 });
    expect(await configured()).toBe(true);
  });

  test("what is removed is found no more, and each change has its record", async () => {
    const audit = anAudit("workload_issuer.created", { clientId: "x" });
    const temporary = { ...workloadDefaults("oidc"), issuer: "https://temporary.example", kind: "oidc" } as const;
    expect(await issuers().add(temporary, audit)).toMatchObject({ issuer: temporary.issuer, singleUse: true, updatedAt: null });
    expect(await issuers().add(temporary, audit)).toBeUndefined();
    const { id } = await assign("one", "short", {}, temporary.issuer);
    await assign("one", "long", {}, temporary.issuer);
    expect(await identified().unassign(id, anAudit("workload_identity.removed"))).toBe(true);
    expect(await identified().unassign(id, anAudit("workload_identity.removed"))).toBe(false);
    expect(await identities("one", temporary.issuer)).toMatchObject([{ subject: "long" }]);
    const decide = () => ({ ...temporary, maxLifetime: 60 });
    expect(await issuers().change(temporary, decide, anAudit("workload_issuer.changed"))).toMatchObject({ maxLifetime: 60 });
    expect(await issuers().remove(temporary, anAudit("workload_issuer.deleted"))).toBe(true);
    expect(await issuers().remove(temporary, anAudit("workload_issuer.deleted"))).toBe(false);
    expect(await identities("one", temporary.issuer)).toEqual([]);
    expect(
      await runText(
        database.sql,
        "select event, workload_subject from audit_records where workload_issuer = 'https://temporary.example' order by id",
      ),
    ).toEqual([
      { event: "workload_issuer.created", workload_subject: null },
      { event: "workload_identity.added", workload_subject: "short" },
      { event: "workload_identity.added", workload_subject: "long" },
      { event: "workload_identity.removed", workload_subject: "short" },
      { event: "workload_issuer.changed", workload_subject: null },
      { event: "workload_issuer.deleted", workload_subject: null },
    ]);
  });

  test("a file replaces the identities of a client, keeps those that it does not name, and refuses one of another client", async () => {
    const identity = (subject: string) => ({ issuer: CI, subject });
    const file = (subjects: readonly string[] | undefined) => ({
      workloadIssuers: [{ issuer: CI, kind: "oidc" }],
      clients: [robot("filed", subjects && { workloadIdentities: subjects.map(identity) })],
    });
    const counts = async (subjects?: readonly string[]) => {
      const { clients, workloadIssuers } = await apply(file(subjects));
      return [clients, workloadIssuers?.unchanged];
    };
    const one = (what: string) => [{ created: 0, changed: 0, unchanged: 0, [what]: 1 }, 1];
    expect(await counts(["f-1", "f-2"])).toEqual(one("created"));
    expect(await counts(["f-2", "f-1"])).toEqual(one("unchanged"));
    expect(await counts()).toEqual(one("unchanged"));
    expect(await counts(["f-2", "f-3"])).toEqual(one("changed"));
    expect((await identities("filed")).map(({ subject }) => subject)).toEqual(["f-2", "f-3"]);
    await assign("two", "f-4");
    await expect(counts(["f-4"])).rejects.toMatchObject({ reason: "file_incoherent" });
    expect((await identities("filed")).map(({ subject }) => subject)).toEqual(["f-2", "f-3"]);
    const spiffe = { workloadIssuers: [{ issuer: "spiffe://x", kind: "spiffe" }] };
    await expect(apply(spiffe)).rejects.toMatchObject({ detail: { issues: [{ path: "workloadIssuers.0.bundleEndpoint" }] } });
  });
});
