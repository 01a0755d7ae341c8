import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type Server } from "node:http";
import { type AddressInfo, createServer, type Server as TcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { handOver, mostAfter, streamingAudit, turnsToSkip } from "../../src/compose/audit-streaming.ts";
import { receiverOf } from "../../src/outside/audit-stream/receiver.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditStream } from "../../src/store/audit-progress.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import type { Sql } from "../../src/store/sql.ts";
import { anAudit, anId } from "../support/accounts.ts";
import { databaseKinds, runText, sharedDatabase } from "../support/database.ts";

async function portOf(server: Server | TcpServer): Promise<number> {
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A collector over HTTP. @param statuses of its next responses; afterwards 200 */
async function aCollector(...statuses: number[]) {
  const bodies: string[] = [];
  const server = createHttpServer(async (request, response) => {
    const status = statuses.shift() ?? 200;
    const body = await text(request);
    if (status === 200) bodies.push(body);
    response.writeHead(status).end();
  });
  return { url: `http://127.0.0.1:${await portOf(server)}/v1/logs`, bodies };
}

const receiver = (url: string) => receiverOf({ url, secret: "s".repeat(16), issuer: "https://id.example.test", clock: () => 1 });
const numbers = (body: string): readonly number[] => JSON.parse(body).records.map(({ seq }: { seq: number }) => seq);

describe.for(databaseKinds)("the stream of the audit trail on $name", ({ fresh }) => {
  const database = sharedDatabase(fresh);
  let sql: Sql;
  beforeAll(() => {
    sql = database().sql;
  });
  const writeSealed = async (count: number): Promise<void> => {
    const log = auditLog(sql);
    await Promise.all(Array.from({ length: count }, () => log.record(anAudit("token.refused", { requestId: anId() }))));
    while ((await auditStream(sql).waiting()) < count) await auditSealer(sql, undefined).seal();
  };
  beforeEach(() =>
    runText(sql, "update audit_stream set seq = (select coalesce(max(seq), 0) from audit_links), holder = null, leased_until = now()"),
  );

  test("a webhook gets every record once and in order, and what it refused comes again", async () => {
    await writeSealed(3);
    const { url, bodies } = await aCollector(503);
    const holder = randomUUID();
    await expect(handOver(sql, holder, receiver(url))).rejects.toThrow("did not take");
    expect(await auditStream(sql).waiting()).toBe(3);
    expect(await handOver(sql, holder, receiver(url))).toBe(3);
    await writeSealed(2);
    expect(await handOver(sql, holder, receiver(url))).toBe(2);
    expect(await handOver(sql, holder, receiver(url))).toBe(0);
    const found = bodies.flatMap(numbers);
    expect(found).toHaveLength(5);
    expect(found).toEqual(Array.from({ length: 5 }, (_, index) => (found[0] ?? 0) + index));
  });

  /** A webhook that refuses what has the records with these request ids, and with `tooMany` more than `most` records. */
  async function aPickyCollector(refused: Set<string>, most = 500, tooMany = 413) {
    const taken: string[] = [];
    const server = createHttpServer(async (request, response) => {
      const ids: string[] = JSON.parse(await text(request)).records.map(({ requestId }: { requestId: string }) => requestId);
      const status = ids.length > most ? tooMany : ids.some((id) => refused.has(id)) ? 422 : 200;
      if (status === 200) taken.push(...ids);
      response.writeHead(status).end();
    });
    return { url: `http://127.0.0.1:${await portOf(server)}/`, taken };
  }
  /** The records that wait, in the order of the chain. */
  const waiting = () =>
    runText<{ id: string; requestId: string }>(
      sql,
      `select id, request_id as "requestId" from audit_records join audit_links using (id)
       where seq > (select seq from audit_stream) order by seq`,
    );

  test("a receiver that refuses one record gets those before it, and the failure names the record", async () => {
    await writeSealed(11);
    const records = await waiting();
    const bad = records[6] ?? expect.fail("no record");
    const refused = new Set([bad.requestId]);
    const { url, taken } = await aPickyCollector(refused);
    const holder = randomUUID();
    for (const _ of [1, 2])
      await expect(handOver(sql, holder, receiver(url))).rejects.toMatchObject({ auditId: bad.id, code: "status_422" });
    expect(taken).toEqual(records.slice(0, 6).map(({ requestId }) => requestId));
    refused.clear();
    expect(await handOver(sql, holder, receiver(url))).toBe(5);
    expect(taken).toEqual(records.map(({ requestId }) => requestId));
  });

  test("a receiver that takes few records at once gets all of them in smaller batches", async () => {
    await writeSealed(11);
    const records = await waiting();
    const { url, taken } = await aPickyCollector(new Set(), 2);
    expect(await handOver(sql, randomUUID(), receiver(url))).toBe(11);
    expect(taken).toEqual(records.map(({ requestId }) => requestId));
  });

  test("a receiver that is overloaded by a whole batch gets all records in the smaller ones that follow", async () => {
    await writeSealed(11);
    const records = await waiting();
    const { url, taken } = await aPickyCollector(new Set(), 2, 503);
    const [holder, pace] = [randomUUID(), { most: 500 }];
    for (let turns = 0; turns < 20 && taken.length < 11; turns++)
      await handOver(sql, holder, receiver(url), pace).catch((error: unknown) => expect(error).toMatchObject({ code: "status_503" }));
    expect(taken).toEqual(records.map(({ requestId }) => requestId));
  });

  test("a record that is refused again and again is logged once", async () => {
    await writeSealed(2);
    const [first] = await waiting();
    const { url } = await aPickyCollector(new Set([first?.requestId ?? ""]));
    const logged: unknown[] = [];
    const failures: unknown[] = [];
    const stop = streamingAudit({ issuer: "https://id.example.test", auditStream: { url, secret: "s".repeat(16) } }, sql, {
      metrics: { auditStream: () => undefined },
      log: { warn: (...line: unknown[]) => void logged.push(line) },
      failed: (error) => void failures.push(error),
    });
    try {
      await expect.poll(() => failures.length).toBeGreaterThan(1);
      expect(logged).toEqual([["audit_record_refused", { auditId: first?.id, code: "status_422" }]]);
    } finally {
      await stop();
    }
  });

  test("of many processes one sends, and another one when its lease is over", async () => {
    await writeSealed(1);
    const { url, bodies } = await aCollector();
    const stream = auditStream(sql);
    const holders = Array.from({ length: 16 }, () => randomUUID());
    const claims = await Promise.all(holders.map((each) => stream.claim(each)));
    expect(claims.filter((seq) => seq !== undefined)).toHaveLength(1);
    const holder = holders[claims.findIndex((seq) => seq !== undefined)] ?? expect.fail("no process sends");
    const other = randomUUID();
    expect(await handOver(sql, other, receiver(url))).toBe(0);
    await runText(sql, "update audit_stream set leased_until = now() - interval '1 second'");
    expect(await handOver(sql, other, receiver(url))).toBe(1);
    expect(bodies).toHaveLength(1);
    expect(await stream.advance(holder, claims.find((seq) => seq !== undefined) ?? -1, 1_000_000)).toBe(false);
    await stream.release(other);
    expect(await stream.claim(holder)).toBeDefined();
  });

  test("syslog over TCP gets whole messages, and a receiver that resets the connection gets them again", async () => {
    await writeSealed(2);
    let received = "";
    let reset = true;
    const server = createServer({ allowHalfOpen: false }, (socket) => {
      socket.on("error", () => undefined);
      if (reset) return void socket.resetAndDestroy();
      socket.on("data", (chunk) => {
        received += chunk.toString();
      });
    });
    const url = `syslog://127.0.0.1:${await portOf(server)}`;
    const holder = randomUUID();
    await expect(handOver(sql, holder, receiver(url))).rejects.toThrow("did not take");
    reset = false;
    expect(await handOver(sql, holder, receiver(url))).toBe(2);
    expect(received.match(/\d+ <1(?:08|10)>1 [^<]* token\.refused \[meta sequenceId="\d+"\] \{/g)).toHaveLength(2);
  });

  test("a syslog receiver that closes before the records end has taken none", async () => {
    await writeSealed(1);
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => void socket.on("error", () => undefined).end());
    const url = `syslog://127.0.0.1:${await portOf(server)}`;
    await expect(handOver(sql, randomUUID(), receiver(url))).rejects.toMatchObject({ code: "closed_early" });
  });

  test("a syslog receiver that keeps the connection open after the records has taken none", async () => {
    await writeSealed(1);
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => undefined).resume(); // as a proxy does that has the records and still waits for its own receiver
    });
    const url = `syslog://127.0.0.1:${await portOf(server)}`;
    await expect(handOver(sql, randomUUID(), receiver(url))).rejects.toMatchObject({ code: "closed_late" });
  });

  test("a receiver that redirects is named by its status", async () => {
    await writeSealed(1);
    const server = createHttpServer((_, response) => void response.writeHead(308, { location: "https://127.0.0.1:1/" }).end());
    const url = `http://127.0.0.1:${await portOf(server)}/`;
    await expect(handOver(sql, randomUUID(), receiver(url))).rejects.toMatchObject({ code: "status_308" });
  });

  test.for([
    ["30", 30],
    ["Thu, 01 Jan 1970 00:02:01 GMT", 120], // the clock of the sender is at 1
    ["soon", 0],
    [undefined, 0],
  ] as const)("a receiver without room says with Retry-After %s when to come again", async ([header, seconds]) => {
    await writeSealed(1);
    const server = createHttpServer((_, response) => void response.writeHead(429, header && { "retry-after": header }).end());
    const url = `http://127.0.0.1:${await portOf(server)}/`;
    const holder = randomUUID();
    for (const each of [url, `otlp+${url}`])
      await expect(handOver(sql, holder, receiver(each))).rejects.toMatchObject({ code: "status_429", retryAfter: seconds });
  });

  test("an OTLP collector that rejects some of the records gets them again", async () => {
    await writeSealed(1);
    const answers = [
      '{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}',
      '{"partialSuccess":{"rejectedLogRecords":0}}',
    ];
    const url = `http://127.0.0.1:${await portOf(createHttpServer((_, response) => void response.end(answers.shift())))}/v1/logs`;
    const holder = randomUUID();
    await expect(handOver(sql, holder, receiver(`otlp+${url}`))).rejects.toMatchObject({ code: "records_rejected" });
    expect(await handOver(sql, holder, receiver(`otlp+${url}`))).toBe(1);
  });

  test.for([200, 503])("an OTLP collector that answers %i and never ends is left before it fills the memory", async (status) => {
    await writeSealed(1);
    let written = 0;
    const closed = Promise.withResolvers<void>();
    const server = createHttpServer((_, response) => {
      response.writeHead(status).once("close", closed.resolve);
      const more = (): void => {
        written += 1;
        if (!response.destroyed) response.write("x".repeat(65_536), () => setImmediate(more));
      };
      more();
    });
    const url = `otlp+http://127.0.0.1:${await portOf(server)}/v1/logs`;
    await expect(handOver(sql, randomUUID(), receiver(url))).rejects.toMatchObject({
      code: status === 200 ? "answer_too_large" : "status_503",
    });
    await closed.promise;
    expect(written * 65_536).toBeLessThan(32 * 1024 * 1024); // the kernel takes some for both ends
  });

  test("an OTLP collector gets log records", async () => {
    await writeSealed(1);
    const { url, bodies } = await aCollector();
    expect(await handOver(sql, randomUUID(), receiver(`otlp+${url}`))).toBe(1);
    expect(JSON.parse(bodies[0] ?? "").resourceLogs[0].scopeLogs[0].logRecords).toHaveLength(1);
  });
});

test.for([
  [0, 0, 1],
  [1, 0, 2],
  [99, 0, 60],
  [0, 30, 30],
  [5, 30, 60],
  [0, 86_400, 3600],
] as const)("after %i failures and with a Retry-After of %i seconds the stream pauses for %i", ([failures, retryAfter, pause]) => {
  expect(turnsToSkip(failures, { retryAfter })).toBe(pause);
});

// A receiver of syslog that needed 1.3 s for a batch would need more than the two that it has for the double, and get all of it again.
test.for<[number, number, number]>([
  [250, 999, 500],
  [250, 1_000, 250],
  [400, 10, 500],
])("after %i records taken in %i ms the next batch has at most %i", ([most, took, next], { expect }) => {
  expect(mostAfter(most, took)).toBe(next);
});
