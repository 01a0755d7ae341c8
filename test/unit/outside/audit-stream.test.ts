import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { otlpDelivery, type SealedEntry, syslogFrame, webhookDelivery } from "../../../src/outside/audit-stream/receiver.ts";

const entry: SealedEntry = {
  id: "019a0000-0000-7000-8000-000000000001",
  at: 1_764_000_000.123,
  link: { seq: 7, hash: "h" },
  event: "token.refused",
  outcome: "failure",
  reason: "code_expired",
  actor: { type: "client", id: "crm" },
  clientId: "crm",
  scope: "müde\n😀",
};

test("a syslog message is framed by its bytes, and has facility, severity, time, event and number of RFC 5424", () => {
  const frame = syslogFrame(entry, "id.example.test");
  const [, length, message = ""] = /^(\d+) ([\s\S]+)$/.exec(frame) ?? [];
  expect(Number(length)).toBe(Buffer.byteLength(message));
  expect(message).toMatch(/^<108>1 2025-11-24T16:00:00\.123Z id\.example\.test countersign - token\.refused \[meta sequenceId="7"\] \{/);
  expect(message).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(message.slice(message.indexOf("{")))).toEqual({
    ...{ id: entry.id, seq: 7, hash: "h", at: "2025-11-24T16:00:00.123Z", event: "token.refused", outcome: "failure" },
    ...{ reason: "code_expired", actor: { type: "client", id: "crm" }, clientId: "crm", scope: "müde\n😀" },
  });
  expect(syslogFrame({ ...entry, outcome: "success", link: { seq: 2_147_483_648, hash: "h" } }, "h")).toMatch(/<110>1 .*sequenceId="1"\]/);
});

test("a secret with whsec_ is decoded from base64, as receivers with a library of Standard Webhooks do", () => {
  const secret = Buffer.from("a key of twenty-four byt");
  const { headers, body } = webhookDelivery([entry], "https://id.example.test", `whsec_${secret.toString("base64")}`, 1_764_000_009);
  const expected = createHmac("sha256", secret).update(`audit-7-7-h.1764000009.${body}`).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
});

test("a webhook is signed over its id, time and body, and repeated under the same id", () => {
  const { headers, body } = webhookDelivery(
    [entry, { ...entry, link: { seq: 8, hash: "i" } }],
    "https://id.example.test",
    "s".repeat(16),
    1_764_000_009.9,
  );
  expect(headers).toMatchObject({ "webhook-id": "audit-7-8-i", "webhook-timestamp": "1764000009" });
  const expected = createHmac("sha256", "s".repeat(16)).update(`audit-7-8-i.1764000009.${body}`).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
  expect(JSON.parse(body)).toMatchObject({ type: "audit.records", issuer: "https://id.example.test", records: [{ seq: 7 }, { seq: 8 }] });
});

test("a webhook with other records under the numbers of an earlier one, as after a restore, has another id", () => {
  const [id, later] = ["h", "other"].map(
    (hash) => webhookDelivery([{ ...entry, link: { seq: 7, hash } }], "https://id.example.test", "s".repeat(16), 1).headers["webhook-id"],
  );
  expect(id).not.toBe(later);
});

test("OTLP logs have time, severity, event and the record as body", () => {
  const { headers, body } = otlpDelivery([entry], "https://id.example.test", "token");
  expect(headers.authorization).toBe("Bearer token");
  const [{ scopeLogs }] = JSON.parse(body).resourceLogs;
  expect(scopeLogs[0].logRecords[0]).toMatchObject({ timeUnixNano: "1764000000123000000", severityNumber: 13, eventName: "token.refused" });
  expect(JSON.parse(scopeLogs[0].logRecords[0].body.stringValue)).toMatchObject({ seq: 7, reason: "code_expired" });
});
