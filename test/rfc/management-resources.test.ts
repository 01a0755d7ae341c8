import { type AdminClient, createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { anAudit } from "../support/accounts.ts";
import { type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

const NOTES = "https://notes.example.test";

let api: ManagementFront;
let operator: AdminClient["operator"];
let ada: string;
beforeAll(async () => {
  api = await startManagement({ resourceDoctor: async (url) => ({ url, kind: "unknown", verdict: "fault", findings: [] }) });
  const users = await managementUsers(api);
  ada = users.ada;
  operator = createAdminClient({ url: api.url, token: users.operator }).operator;
  await operator.resources.create.mutate({ resource: NOTES, name: "Notes" });
});
afterAll(() => api.close());

const refused = (reason: string, resources: readonly string[]) =>
  auditLog(api.database.sql).record(
    anAudit("token.refused", { outcome: "failure", reason, error: "invalid_target", clientId: "job", resources }),
  );
const seal = async (): Promise<void> => {
  if ((await auditSealer(api.database.sql, undefined).seal()) > 0) await seal();
};

test("refused requests that named a resource are listed with their reasons, once they are sealed", async () => {
  for (const reason of ["resource_disabled", "resource_disabled", "scope_not_allowed"]) await refused(reason, [`${NOTES}/`, NOTES]);
  await refused("resource_unknown", ["https://other.example.test"]);
  await auditLog(api.database.sql).record(anAudit("token.issued", { resources: [NOTES] }));
  expect(await operator.resources.refusals.query({ resource: NOTES })).toMatchObject({ records: [], total: 0, reasons: [] });
  await seal();
  const first = await operator.resources.refusals.query({ resource: `${NOTES}/`, limit: 2 });
  expect(first).toMatchObject({
    total: 3,
    totalIsExact: true,
    reasons: [
      { reason: "resource_disabled", count: 2 },
      { reason: "scope_not_allowed", count: 1 },
    ],
  });
  const second = await operator.resources.refusals.query({ resource: NOTES, limit: 2, cursor: first.nextCursor ?? "" });
  expect(second).toMatchObject({ total: null, nextCursor: null, reasons: null });
  const reasons = [...first.records, ...second.records].map(({ reason }) => reason);
  expect(reasons.sort()).toEqual(["resource_disabled", "resource_disabled", "scope_not_allowed"]);
  await expect(operator.resources.refusals.query({ resource: NOTES, cursor: "none" })).rejects.toMatchObject({
    data: { error: "invalid_request" },
  });
});

test("a web resource can be examined, and no other one", async () => {
  expect(await operator.resources.examine.query({ resource: NOTES })).toMatchObject({ url: NOTES, verdict: "fault" });
  await expect(operator.resources.examine.query({ resource: "urn:notes" })).rejects.toMatchObject({ data: { error: "invalid_request" } });
});

test("a change of a client, resource, connection or issuer of workloads is refused to a caller who read it before another change", async () => {
  const issuer = "https://platform.example.test";
  const developer = createAdminClient({ url: api.url, token: ada });
  const client = await developer.clients.create.mutate({ name: "Read", grantTypes: ["client_credentials"] });
  const resource = await operator.resources.create.mutate({ resource: "https://read.example.test", name: "Read" });
  const connection = await operator.connections.create.mutate({
    name: "read",
    issuer: "https://same.example.test",
    clientId: "us",
    clientSecret: "s",
  });
  const platform = await operator.workloadIssuers.create.mutate({ issuer, kind: "oidc", jwksUri: `${issuer}/jwks` });
  const [{ id, ...read }, given] = [client, { name: "Changed" }];
  const changes = [
    [read.updatedAt, (updatedAt?: number) => developer.clients.update.mutate({ id, patch: given, updatedAt })],
    [read.updatedAt, (updatedAt?: number) => operator.clients.update.mutate({ id, patch: { description: "Changed" }, updatedAt })],
    [resource.updatedAt, (updatedAt?: number) => operator.resources.update.mutate({ resource: resource.resource, ...given, updatedAt })],
    [connection.updatedAt, (updatedAt?: number) => operator.connections.update.mutate({ name: "read", title: "Changed", updatedAt })],
    [platform.updatedAt, (updatedAt?: number) => operator.workloadIssuers.update.mutate({ issuer, maxLifetime: 60, updatedAt })],
  ] as const;
  for (const [updatedAt, change] of changes) {
    const changed = await change();
    await expect(change(updatedAt)).rejects.toMatchObject({
      data: { error: "conflict", message: expect.stringContaining("Read it again") },
    });
    expect(await change(changed.updatedAt)).toEqual(changed);
  }
});
