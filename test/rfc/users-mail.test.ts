import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { startSmtpServer } from "../support/smtp-server.ts";

const PASSWORD = "correct horse battery";

let smtp: Awaited<ReturnType<typeof startSmtpServer>>;
let server: TestServer;
/** Recipients that the SMTP server refuses with 451 for now. */
const busy = new Set<string>();
beforeAll(async () => {
  smtp = await startSmtpServer((command) => ([...busy].some((one) => command === `RCPT TO:<${one}>`) ? "451 later" : undefined));
  server = await startServer({ env: { SMTP_URL: smtp.url, MAIL_FROM: "Countersign <no-reply@id.example.test>", TRUST_PROXY: "true" } });
});
afterAll(async () => {
  await server.close();
  await smtp.close();
});

/** The outbox is polled every second. */
const eventually = <T>(probe: () => T) => expect.poll(probe);

let count = 0;
const freshEmail = () => `m${++count}@example.test`;
const register = (email: string, headers: Record<string, string> = {}) =>
  aBrowser(server.url).json("/auth/register", { email, password: PASSWORD }, "POST", headers);
const decoded = (source: string) =>
  Buffer.from(
    source.replaceAll(/=\r\n/g, "").replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  ).toString("utf8");
const received = (email: string) => smtp.received.filter(({ to }) => to.includes(`<${email}>`)).map(({ source }) => decoded(source));
const rows = (email: string) =>
  runText<{ text: string; attempts: number; pause: number }>(
    server.database.sql,
    "select text, attempts, extract(epoch from due_at - now())::float8 as pause from outbox where recipient = $1",
    [email],
  );
const due = (email: string) => runText(server.database.sql, "update outbox set due_at = now() where recipient = $1", [email]);

describe("mails go by SMTP", () => {
  test("as text and HTML in the language of the request, and the row of the outbox is deleted after delivery", async () => {
    const email = freshEmail();
    expect((await register(email, { "accept-language": "de" })).status).toBe(201);
    await eventually(() => received(email).length).toBe(1);
    const [mail = ""] = received(email);
    expect(mail).toMatch(/Content-Type: multipart\/alternative[\s\S]+text\/plain[\s\S]+text\/html/);
    expect(mail).toContain("öffnen Sie diesen Link");
    expect(mail).toContain('<html lang="de">');
    expect(mail).toContain("From: Countersign <no-reply@id.example.test>");
    await eventually(() => rows(email)).toEqual([]);
    const token = /token=([0-9a-f]{64})/.exec(mail)?.[1];
    expect((await fetch(`${server.url}/auth/verify?token=${token}`)).status).toBe(200);
  });

  test("a refused mail is retried after 30, 60 and 120 s and delivered in the end, and sign-up returns 201", async () => {
    const email = freshEmail();
    busy.add(email);
    expect((await register(email)).status).toBe(201);
    const pauses: number[] = [];
    for (let tries = 1; tries <= 3; tries++) {
      await eventually(async () => (await rows(email))[0]?.attempts).toBe(tries);
      pauses.push(Math.round((await rows(email))[0]?.pause ?? 0));
      if (tries < 3) await due(email);
    }
    expect(pauses.map((pause) => Math.round(pause / 10) * 10)).toEqual([30, 60, 120]);
    expect((await (await operatorAt(server.url)).deployment.get.query()).postponedMails).toBeGreaterThanOrEqual(1);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(Number(/^countersign_background_failures_total\{work="mail"\} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(3);
    busy.delete(email);
    await due(email);
    await eventually(() => received(email).length).toBe(1);
    await eventually(() => rows(email)).toEqual([]);
  });

  test("a mail whose link has expired is deleted without being sent", async () => {
    const email = freshEmail();
    busy.add(email);
    await register(email);
    await eventually(async () => (await rows(email))[0]?.attempts).toBe(1);
    await runText(server.database.sql, "update outbox set expires_at = now(), due_at = now() where recipient = $1", [email]);
    busy.delete(email);
    await eventually(() => rows(email)).toEqual([]);
    expect(received(email)).toEqual([]);
  });

  test("a newer link replaces one that is still waiting", async () => {
    const email = freshEmail();
    busy.add(email);
    await register(email);
    await eventually(async () => (await rows(email))[0]?.attempts).toBe(1);
    await aBrowser(server.url).json("/auth/resend-verification", { email });
    const waiting = await rows(email);
    expect(waiting).toHaveLength(1);
    busy.delete(email);
    await due(email);
    await eventually(() => received(email).length).toBe(1);
    expect(received(email)[0]).toContain(/token=([0-9a-f]{64})/.exec(waiting[0]?.text ?? "")?.[1]);
  });
});

test("responses do not change while the mail server is down", async () => {
  const closed = await startSmtpServer();
  await closed.close();
  const other = await startServer({ env: { SMTP_URL: closed.url, MAIL_FROM: "no-reply@id.example.test" } });
  try {
    const post = (path: string, body: object) => aBrowser(other.url).json(path, body);
    const email = freshEmail();
    expect((await post("/auth/register", { email, password: PASSWORD })).status).toBe(201);
    expect((await post("/auth/resend-verification", { email })).status).toBe(200);
    expect((await post("/auth/forgot-password", { email })).status).toBe(200);
    expect((await post("/auth/forgot-password", { email: freshEmail() })).status).toBe(200);
    const waiting = await runText<{ about: string }>(other.database.sql, "select about from outbox order by about", []);
    expect(waiting).toEqual([{ about: "reset" }, { about: "verification" }]);
    expect(other.faults()).toEqual([]);
  } finally {
    await other.close();
  }
});
