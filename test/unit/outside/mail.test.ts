import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createMailer, type Mailer, UndeliverableError } from "../../../src/outside/mail.ts";
import { startSmtpServer } from "../../support/smtp-server.ts";

const link = `http://localhost:3000/auth/verify?token=${"a1".repeat(32)}`;
const mail = {
  id: "0193-7f",
  to: "alice@example.test",
  subject: "Confirm – it",
  text: `Hällo\n\n${link}\n`,
  html: `<p>Hällo <a href="${link}">confirm</a></p>`,
};

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});
const keep = <T extends Mailer>(mailer: T) => {
  open.push(() => mailer.close());
  return mailer;
};
const directory = () => {
  const path = mkdtempSync(join(tmpdir(), "mail-"));
  open.push(() => rmSync(path, { recursive: true }));
  return path;
};
const smtp = async (answer?: (command: string) => string | undefined) => {
  const server = await startSmtpServer(answer);
  open.push(server.close);
  return {
    server,
    mailer: keep(createMailer({ smtpUrl: server.url, from: "Countersign <no-reply@id.example.test>", dataDir: "/nowhere" })),
  };
};

describe("mail by SMTP", () => {
  test("a message arrives with its text and HTML parts", async () => {
    const { server, mailer } = await smtp();
    expect(await mailer.send(mail)).toEqual({});
    expect(server.received).toHaveLength(1);
    const [{ from, to, source } = { from: "", to: [], source: "" }] = server.received;
    expect([from, to]).toEqual(["<no-reply@id.example.test>", ["<alice@example.test>"]]);
    expect(source).toContain("Auto-Submitted: auto-generated");
    expect(source).toContain("Message-ID: <0193-7f@id.example.test>");
    expect(source).toMatch(/text\/plain[\s\S]+text\/html/);
    expect(source.replace(/=\r\n/g, "").replaceAll("=3D", "=")).toContain(link);
  });

  test.for(["a@b.test,c@d.test", "a@b.test\r\nBcc: c@d.test", "a@b.test>\r\nRCPT TO:<c@d.test"])(
    "%j yields at most one recipient",
    async (to) => {
      const { server, mailer } = await smtp();
      await mailer.send({ ...mail, to }).catch(() => undefined);
      for (const each of server.received) {
        expect(each.to).toHaveLength(1);
        expect(each.source).not.toMatch(/^Bcc:/m);
      }
    },
  );

  test("a subject cannot add a header", async () => {
    const { server, mailer } = await smtp();
    await mailer.send({ ...mail, subject: "a\r\nBcc: c@d.test" });
    expect(server.received[0]?.source).not.toMatch(/^Bcc:/m);
    expect(server.received[0]?.to).toHaveLength(1);
  });

  test("a permanently refused recipient is reported as undeliverable", async () => {
    const { mailer } = await smtp((command) => (command.startsWith("RCPT") ? "550 no such user" : undefined));
    await expect(mailer.send(mail)).rejects.toBeInstanceOf(UndeliverableError);
  });

  test.for([
    ["a busy server", "connect", "421 later"],
    ["a full mailbox", "RCPT", "452 full"],
    ["a message that is not accepted", "DATA", "451 later"],
    ["a sender that the server refuses", "MAIL", "550 who are you"],
  ])("%s is a temporary error", async ([, at, said]) => {
    const { mailer } = await smtp((command) => (command.startsWith(at ?? "") ? said : undefined));
    const error = await mailer.send(mail).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(UndeliverableError);
  });

  test("with requireTLS, no message is sent to a server without TLS", async () => {
    const { server } = await smtp();
    const mailer = keep(createMailer({ smtpUrl: `${server.url}?requireTLS=true`, from: "no-reply@localhost", dataDir: "/nowhere" }));
    await expect(mailer.send(mail)).rejects.toThrow();
    expect(server.received).toEqual([]);
  });

  test("a silent server is given up by a timeout", async () => {
    const { mailer } = await smtp((command) => (command === "connect" ? "silence" : undefined));
    await expect(mailer.send(mail)).rejects.toThrow();
  });
});

test("a mail server that goes on answering without an end is given up at the deadline", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined).write("220 mail.test ESMTP\r\n");
    socket.once("data", () => {
      const lines = setInterval(() => socket.write("250-wait\r\n"), 20);
      socket.once("close", () => clearInterval(lines));
    });
  }).listen(0, "127.0.0.1");
  open.push(() => server.close());
  await once(server, "listening");
  const smtpUrl = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const mailer = keep(createMailer({ smtpUrl, from: "no-reply@localhost", dataDir: "/nowhere", deadline: 200 }));
  await expect(mailer.send(mail)).rejects.toMatchObject({ code: "EABORT" });
});

describe("mail to files", () => {
  const files = () => {
    const dataDir = directory();
    return { dataDir, mailer: keep(createMailer({ from: "no-reply@localhost", dataDir })) };
  };

  test("a message is written to a file with mode 0600, and its path is returned", async () => {
    const { dataDir, mailer } = files();
    const { path } = await mailer.send(mail);
    expect(path).toBe(join(dataDir, "outbox", "0193-7f.eml"));
    expect(readdirSync(join(dataDir, "outbox"))).toEqual(["0193-7f.eml"]);
    expect(statSync(path ?? "").mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, "outbox")).mode & 0o777).toBe(0o700);
  });

  test("the file contains the link unbroken", async () => {
    const { mailer } = files();
    const { path } = await mailer.send(mail);
    const source = readFileSync(path ?? "", "utf8");
    expect(source.split("\n")).toContain(link);
    expect(source).toContain(mail.html);
    expect(source).toContain("To: alice@example.test");
    expect(source).toMatch(/^Subject: =\?UTF-8\?/m);
  });

  test("an id cannot escape from the directory", async () => {
    const { dataDir, mailer } = files();
    const { path } = await mailer.send({ ...mail, id: "../../etc/x" });
    expect(path).toBe(join(dataDir, "outbox", "etcx.eml"));
  });
});
