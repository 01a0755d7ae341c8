import { afterEach, describe, expect, test } from "vitest";
import type { Outbox, QueuedMail } from "../../../src/accounts/ports.ts";
import { createMailer, type Mailer, UndeliverableError } from "../../../src/outside/mail.ts";
import { afterFailure, type OutboxWorker, pauseAfter, startOutbox } from "../../../src/outside/outbox.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";

const mail = (id: string): QueuedMail => ({
  id,
  to: "a@b.test",
  subject: "s",
  text: "canary-link",
  html: "<p>canary-link</p>",
  attempts: 0,
  left: 86_400,
});

/** An outbox in memory. `due` are the messages that a claim returns. */
const outboxOf = (...due: QueuedMail[]) => {
  const events: string[] = [];
  const outbox: Outbox = {
    claim: async (limit) => due.splice(0, limit),
    delivered: async (id) => void events.push(`delivered ${id}`),
    postponed: async (id, after) => void events.push(`postponed ${id} ${after}`),
    abandoned: async (id) => void events.push(`abandoned ${id}`),
  };
  return { outbox, due, events };
};

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const working = async (outbox: Outbox, answer?: (command: string) => string | undefined, idle = 20) => {
  const server = await startSmtpServer(answer);
  open.push(server.close);
  const lines: string[] = [];
  const log = createLog({ level: "debug", sink: { write: (line) => lines.push(line) } });
  const mailer = createMailer({ smtpUrl: server.url, from: "no-reply@localhost", dataDir: "/nowhere" });
  const worker: OutboxWorker = startOutbox({ outbox, mailer, log, idle });
  open.push(worker.close);
  return { server, worker, lines };
};

describe("the outbox worker", () => {
  test("sends all queued messages, over several claims", async () => {
    const { outbox, events } = outboxOf(...Array.from({ length: 25 }, (_, i) => mail(`m${i}`)));
    const { server } = await working(outbox);
    await expect.poll(() => events.length).toBe(25);
    expect(events[24]).toBe("delivered m24");
    expect(server.received).toHaveLength(25);
  });

  test.for([
    [true, "http://localhost:3000/auth/verify?token=canary"],
    [false, undefined],
  ] as const)("logs the link of a message written to a file only with logLinks: %s", async ([logLinks, link]) => {
    const { outbox, events } = outboxOf({
      ...mail("m"),
      text: `Hello,\n\nopen this:\n\nhttp://localhost:3000/auth/verify?token=canary\n\nBye`,
    });
    const lines: string[] = [];
    const log = createLog({ level: "debug", sink: { write: (line) => lines.push(line) } });
    const mailer: Mailer = { send: async () => ({ path: "/data/outbox/m.eml" }), close: () => {} };
    open.push(startOutbox({ outbox, mailer, log, idle: 20, logLinks }).close);
    await expect.poll(() => events).toEqual(["delivered m"]);
    const [line] = lines.map((each) => JSON.parse(each)).filter(({ event }) => event === "mail_written");
    expect([line.path, line.link]).toEqual(["/data/outbox/m.eml", link]);
    expect(lines.join().includes("canary")).toBe(logLinks);
  });

  test("sends a later message at once when it is woken", async () => {
    const { outbox, due, events } = outboxOf();
    const { worker } = await working(outbox, undefined, 3_600_000);
    due.push(mail("late"));
    worker.wake();
    await expect.poll(() => events).toEqual(["delivered late"]);
  });

  test("postpones a message that the server refuses temporarily, and continues with the next", async () => {
    const { outbox, events } = outboxOf(mail("first"), { ...mail("second"), to: "good@b.test" });
    const { lines } = await working(outbox, (command) => (command === "RCPT TO:<a@b.test>" ? "451 later" : undefined));
    await expect.poll(() => events).toEqual(["postponed first 30", "delivered second"]);
    const [line] = lines.map((each) => JSON.parse(each)).filter(({ event }) => event === "mail_postponed");
    expect(line).toMatchObject({ mailId: "first", attempt: 1, status: 451, code: "EENVELOPE" });
    expect(line).not.toHaveProperty("error");
    for (const secret of ["canary", "a@b.test", "later"]) expect(lines.join()).not.toContain(secret);
  });

  test("abandons a message whose recipient is refused permanently", async () => {
    const { outbox, events } = outboxOf(mail("m"));
    const { lines } = await working(outbox, (command) => (command.startsWith("RCPT") ? "550 no" : undefined));
    await expect.poll(() => events).toEqual(["abandoned m"]);
    expect(lines.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ event: "mail_abandoned", mailId: "m", status: 550 })]);
  });

  test("does not send an expired message", async () => {
    const { outbox, events } = outboxOf({ ...mail("late"), left: 0 }, mail("good"));
    const { server, lines } = await working(outbox);
    await expect.poll(() => events).toEqual(["abandoned late", "delivered good"]);
    expect(server.received).toHaveLength(1);
    expect(lines.join()).toContain("mail_abandoned");
  });

  test("survives an unreachable store, and logs it once", async () => {
    const { outbox, due, events } = outboxOf();
    let away = true;
    const { lines } = await working({
      ...outbox,
      claim: async (limit, lease) => {
        if (away) throw new Error("connection refused");
        return outbox.claim(limit, lease);
      },
    });
    await expect.poll(() => lines.length).toBe(1);
    due.push(mail("m"));
    away = false;
    await expect.poll(() => events).toEqual(["delivered m"]);
    expect(lines.filter((line) => line.includes("outbox_unreachable"))).toHaveLength(1);
  });
});

describe("retries of mail", () => {
  test("pauses grow up to two hours", () => {
    expect([1, 2, 3, 8, 9, 30].map(pauseAfter)).toEqual([30, 60, 120, 3840, 7200, 7200]);
  });

  test("continue until the message would expire", () => {
    const error = new Error("later");
    expect(afterFailure({ attempts: 0, left: 86_400 }, error)).toEqual({ again: 30 });
    expect(afterFailure({ attempts: 20, left: 7201 }, error)).toEqual({ again: 7200 });
    expect(afterFailure({ attempts: 20, left: 7200 }, error)).toBe("give_up");
  });

  test("end at once for a refused recipient", () => {
    expect(afterFailure({ attempts: 0, left: 86_400 }, new UndeliverableError("no"))).toBe("give_up");
  });
});
