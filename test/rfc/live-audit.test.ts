import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Refusal } from "../../src/errors.ts";
import { liveAudit } from "../../src/management/live.ts";
import type { LiveRecord } from "../../src/management/report-ports.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { eventsOf, nextEvent, type StreamEvent } from "../support/event-stream.ts";
import { type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let ada: string;
let bob: string;
let operator: string;
let now = 1_000_000;
const revoked = new Set<string>();

beforeAll(async () => {
  api = await startManagement({ clock: () => now });
  const { judge } = api.ports.bearers;
  Object.assign(api.ports, {
    liveAudit: liveAudit({ read: api.ports.auditTrail.live, draining: () => false, failed: () => {} }, 20),
    bearers: {
      judge: (token: string) => (revoked.has(token) ? Promise.reject(new Refusal("invalid_token", "token_ended")) : judge(token)),
    },
  });
  ({ ada, bob, operator } = await managementUsers(api));
});
afterAll(() => api.close());

const listen = async (token: string, input: object = {}, headers: Record<string, string> = {}, url = api.url) => {
  const query = encodeURIComponent(JSON.stringify(input));
  return fetch(`${url}/trpc/live.audit?input=${query}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
};
const follow = async (token: string, input: object = {}, headers: Record<string, string> = {}) => {
  const events = eventsOf(await listen(token, input, headers));
  return { events, first: await nextEvent(events) };
};
const dataOf = ({ data }: StreamEvent) =>
  JSON.parse(data) as {
    records: { event: string; seq: number; clientId?: string; userId?: string; ip?: string }[];
    missed: number;
    figures: { issued: number; refused: number };
  };
const nextRecords = async (events: AsyncGenerator<StreamEvent, void>): Promise<ReturnType<typeof dataOf>["records"]> => {
  const { records } = dataOf(await nextEvent(events));
  return records.length > 0 ? records : nextRecords(events);
};
const seal = () => auditSealer(api.database.sql, undefined).seal();
/** A sealed record of a client that a developer owns. */
const createClient = async (owner: string) => {
  const answer = await api.call(owner, "POST", "/trpc/clients.create", { name: "Notes", grantTypes: ["client_credentials"] });
  const { clientId } = (await answer.json()).result.data;
  await seal();
  return clientId as string;
};

test("is an event stream that proxies neither store nor change", async () => {
  const answer = await listen(operator);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  expect([answer.headers.get("cache-control"), answer.headers.get("x-accel-buffering")]).toEqual(["no-store, no-transform", "no"]);
  expect((await nextEvent(eventsOf(answer), "connected")).data).toContain("reconnectAfterInactivityMs");
});

test.for(["at once", "after its first event"])("ends when its reader ends their side of the connection %s", async (when) => {
  const { bearers } = api.ports;
  Object.assign(api.ports, { bearers: { judge: (token: string) => setTimeout(100).then(() => bearers.judge(token)) } });
  onTestFinished(() => void Object.assign(api.ports, { bearers }));
  const head = `GET /trpc/live.audit?input=%7B%7D HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${operator}\r\n\r\n`;
  const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  if (when === "at once") socket.end(head);
  else socket.once("data", () => socket.end()).write(head);
  await once(socket, "close", { signal: AbortSignal.timeout(8_000) }); // less than the pause between two signs of life
});

test("records appear as they are sealed, and after a pause those since the last event", async () => {
  const { events, first } = await follow(operator, { event: "client.registered" });
  expect(dataOf(first)).toMatchObject({ records: [], missed: 0 });
  const clientId = await createClient(ada);
  const { id, ...event } = await nextEvent(events);
  expect(dataOf({ id, ...event }).records).toMatchObject([{ event: "client.registered", clientId, actor: { id: ada } }]);
  await events.return();
  const later = await createClient(bob);
  const again = eventsOf(await listen(operator, {}, { "last-event-id": id ?? "" }));
  expect((await nextRecords(again)).map((record) => record.clientId)).toEqual([later]);
  await again.return();
});

test("a developer sees the records of their own clients alone, without addresses", async () => {
  const { events, first } = await follow(ada);
  await createClient(bob);
  const clientId = await createClient(ada);
  const records = await nextRecords(events);
  expect(records.map((record) => [record.clientId, record.ip])).toEqual([[clientId, undefined]]);
  await events.return();
  const again = eventsOf(await listen(ada, {}, { "last-event-id": first.id ?? "" }));
  expect((await nextRecords(again)).map((record) => record.clientId)).toEqual([clientId]);
  await again.return();
});

test("a developer finds out no private reason by a filter", async () => {
  const clientId = await createClient(ada);
  const [theirs, all] = [await follow(ada, { reason: "code_expired" }), await follow(operator, { reason: "code_expired" })];
  const actor = { type: "client", id: clientId } as const;
  await auditLog(api.database.sql).record({ event: "token.refused", outcome: "failure", actor, clientId, reason: "code_expired" });
  await seal();
  expect(await nextRecords(all.events)).toMatchObject([{ clientId, reason: "code_expired" }]);
  const untilRefused = async (): Promise<ReturnType<typeof dataOf>> => {
    const data = dataOf(await nextEvent(theirs.events));
    return data.figures.refused > 0 ? data : untilRefused();
  };
  expect((await untilRefused()).records).toEqual([]);
  await Promise.all([theirs.events.return(), all.events.return()]);
});

test("ends when the token is revoked, and takes neither a wrong token nor a bound one", async () => {
  const { events } = await follow(operator);
  revoked.add(operator);
  now += 5;
  expect(JSON.parse((await nextEvent(events, "serialized-error")).data)).toMatchObject({
    data: { error: "invalid_token", httpStatus: 401 },
  });
  revoked.delete(operator);
  expect((await nextEvent(eventsOf(await listen("x")), "serialized-error")).data).toContain('"error":"invalid_token"');
});

test.for(["token is revoked", "user is no operator any more"] as const)("sends no record that is sealed after the %s", async (what) => {
  const { judge } = api.ports.bearers;
  const { events } = await follow(operator, { event: "client.registered" });
  if (what === "token is revoked") revoked.add(operator);
  else Object.assign(api.ports.bearers, { judge: async (token: string) => ({ ...(await judge(token)), role: "user" }) });
  onTestFinished(() => {
    revoked.delete(operator);
    Object.assign(api.ports.bearers, { judge });
  });
  await createClient(ada);
  const { event } = await events.next().then(({ value }) => value ?? { event: "end" });
  expect(event).toBe("serialized-error");
});

describe("with a log of its own", () => {
  let length = 0;
  let reads = 0;
  let busy: ManagementFront;
  const text = "x".repeat(400_000);
  const aRecord = (seq: number): LiveRecord => ({
    ...{ id: `id-${seq}`, at: seq, event: "token.issued", outcome: "success", actor: { type: "client", id: "notes" } },
    ...{ link: { seq, hash: "h" }, ownerId: null, scope: text },
  });
  /** One more record at each look. */
  const read = async (after: number | undefined, limit: number) => {
    reads += 1;
    length += 1;
    const from = after ?? Math.max(0, length - limit);
    return Array.from({ length: length - from }, (_, index) => aRecord(from + index + 1));
  };
  beforeAll(async () => {
    busy = await startManagement({ liveAudit: liveAudit({ read, draining: () => false, failed: () => {} }, 1, 4) });
  });
  afterAll(() => busy.close());

  test("a hundred listeners share one look, and a slow one learns what it missed", async () => {
    const slow = eventsOf(await listen(operator, {}, {}, busy.url)); // reads nothing yet
    const listeners = await Promise.all(
      Array.from({ length: 100 }, async () => eventsOf(await listen(operator, { event: "key.withdrawn" }, {}, busy.url))),
    );
    await Promise.all(listeners.map((events) => nextEvent(events)));
    const readsBefore = reads;
    await Promise.all(listeners.map((events) => nextEvent(events)));
    expect(reads - readsBefore).toBeLessThan(50);
    const [quick, ...others] = listeners;
    await Promise.all(others.map((events) => events.return()));
    for (let id = 0; quick !== undefined && id < 40; ) id = Number((await nextEvent(quick)).id); // more than the sockets hold
    await quick?.return();
    for (let missed = 0; missed === 0; ) ({ missed } = dataOf(await nextEvent(slow)));
    await slow.return();
  });
});
