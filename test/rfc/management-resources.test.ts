import { type AdminClient, createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { anAudit } from "../support/accounts.ts";
import { type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

const NOTES = "https://notes.example.test";

let api: ManagementFront;
let operator: AdminClient["operator"];
beforeAll(async () => {
  api = await startManagement({ resourceDoctor: async (url) => ({ url, kind: "unknown", verdict: "fault", findings: [] }) });
  operator = createAdminClient({ url: api.url, token: (await managementUsers(api)).operator }).operator;
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
