import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type AdminClient, createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { registerAuditCommands } from "../../src/cli/audit.ts";
import { keepSession, withSessionLock } from "../../src/cli/kept-sessions.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { anAudit } from "../support/accounts.ts";
import { adminAs, refusedWith } from "../support/admin.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { eventsOf, nextEvent } from "../support/event-stream.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal, type TestTerminal } from "../support/terminal.ts";

let server: TestServer;
let admin: AdminClient;
let operator: TestTerminal;
/** A terminal without a reachable server, because verifying a file needs none. */
const nowhere = aTerminal({ serverUrl: "http://127.0.0.1:1", ...OPERATOR });
beforeAll(async () => {
  server = await startServer();
  admin = (await adminAs(server.url)).admin;
  operator = aTerminal({ serverUrl: server.url, ...OPERATOR });
});
afterAll(async () => {
  await server.close();
  for (const terminal of [operator, nowhere]) terminal.leave();
});

/** Runs a command. `between` runs before each further read of `tail --follow`, until it returns false. */
const run = (words: readonly string[], between?: () => Promise<boolean>) =>
  operator.run([(program, terminal) => registerAuditCommands(program, terminal, between)], ["audit", ...words]);
const fileOf = (text: string): string => {
  const file = join(operator.home, `${Math.random()}.ndjson`);
  writeFileSync(file, text);
  return file;
};
const verified = (text: string, ...words: string[]) => nowhere.run([registerAuditCommands], ["audit", "verify", fileOf(text), ...words]);

const sealed = () => expect.poll(async () => (await admin.operator.audit.chain.query()).waiting).toBe(0);
/** Waits until the last record is signed. The last checkpoint is made five seconds older, so that the next one is due at once. */
async function signed(): Promise<void> {
  await server.database.sql.transaction(async (tx) => {
    await runText(tx, "set local session_replication_role = replica", []); // past the trigger that forbids it
    await runText(tx, "update audit_checkpoints set at = at - interval '5 seconds'", []);
  });
  const isSigned = async () => {
    const { head, signed } = await admin.operator.audit.chain.query();
    return signed?.seq === head?.seq;
  };
  await expect.poll(isSigned).toBe(true);
}
const issue = () => server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" });

describe("the audit chain of a running server", () => {
  test("every record is sealed in order within 5 s", async () => {
    await Promise.all(Array.from({ length: 20 }, issue));
    await sealed();
    const { records } = await admin.operator.audit.list.query({ clientId: "worker", limit: 20 });
    expect(records).toHaveLength(20);
    const numbers = records.map(({ seq }) => seq ?? 0);
    expect(numbers.every((seq) => seq > 0)).toBe(true);
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
    expect(records.every(({ hash }) => /^[A-Za-z0-9_-]{43}$/.test(hash ?? ""))).toBe(true);
  });

  test("an export is verified offline with the key of the JWK Set", async () => {
    await issue();
    await signed();
    const { out, code } = await run(["export"]);
    expect(code).toBe(0);
    const { keys } = (await server.get("/.well-known/jwks.json")).body;
    const kid = keys.find(({ alg }: { alg: string }) => alg === "EdDSA").kid;
    expect(await verified(out, "--trust", kid)).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(/^sound: records 1 to \d+, signed up to \d+/),
    });
    expect(await verified(out)).toMatchObject({ code: 0 });
    // A checkpoint vouches for the records before an export that begins there; an export that begins elsewhere has none.
    const checkpoints = [...out.matchAll(/"type":"checkpoint","seq":(\d+)/g)].map(([, seq]) => Number(seq));
    const between = [1, 2, 3, 4, 5].find((seq) => !checkpoints.includes(seq));
    const verdictFrom = async (after: number | undefined) =>
      (await verified((await run(["export", "--after", String(after)])).out, "--after", String(after))).out;
    expect(await verdictFrom(between)).toContain(`the records before record ${(between ?? 0) + 1} were not verified`);
    expect(await verdictFrom(checkpoints[0])).toMatch(/^sound(?!.*were not verified)/s);
    expect(await run(["export", "--after", "1000000"])).toMatchObject({ code: 4, err: "There is no such record in the chain.\n" });
  });

  test("a partial, empty or short export fails verification unless --after and --at-least match it", async () => {
    await signed();
    const whole = (await run(["export"])).out;
    const reached = [...whole.matchAll(/"type":"checkpoint","seq":(\d+)/g)].at(-1)?.[1] ?? "";
    const part = (await run(["export", "--after", "2"])).out;
    /** An export that is reduced to its header and keys. */
    const emptied = (text: string) =>
      text
        .split("\n")
        .filter((line) => /^\{"type":"(?:header|key)"/.test(line))
        .join("\n");
    expect(await verified(part)).toMatchObject({ code: 1, out: "", err: expect.stringContaining("begins after record 2, not after 0") });
    expect(await verified(part, "--after", "3")).toMatchObject({ code: 1, err: expect.stringContaining("[begins_elsewhere]") });
    expect(await verified(part, "--after", "2")).toMatchObject({ code: 0, out: expect.stringMatching(/^sound: records 3 to /) });
    expect(await verified(emptied(part))).toMatchObject({ code: 1, err: expect.stringContaining("[begins_elsewhere]") });
    expect(await verified(emptied(part), "--after", "2")).toMatchObject({ code: 0, out: "sound: there are no records\n" });
    expect(await verified(emptied(whole))).toMatchObject({ code: 1, err: expect.stringContaining("[no_records]") });
    expect(await verified(emptied(whole), "--after", "0")).toMatchObject({ code: 0 });
    expect(await verified(whole, "--at-least", reached)).toMatchObject({ code: 0 });
    expect(await verified(whole, "--at-least", "1000000")).toMatchObject({ code: 1, err: expect.stringContaining("[falls_short]") });
    // As a script gives the value of a variable that is not set: it must not pass for 0, which demands nothing.
    for (const option of ["--at-least", "--after"])
      await expect(verified(emptied(whole), "--after", "0", option, "")).rejects.toMatchObject({ code: "commander.invalidArgument" });
  });

  test("an altered, removed or moved record of an export exits with 1 and names the first bad record", async () => {
    await signed();
    const { out } = await run(["export"]);
    const lines = out.trimEnd().split("\n");
    const at = lines.findIndex((line) => line.includes('"type":"record"') && line.includes('"client_id":"worker"'));
    const { seq, record } = JSON.parse(lines[at] ?? "{}");
    const altered = lines.with(at, (lines[at] ?? "").replace('"client_id":"worker"', '"client_id":"web"'));
    expect(await verified(altered.join("\n"))).toMatchObject({
      code: 1,
      err: expect.stringContaining(`at record ${seq} (${record.id}), line ${at + 1}:`),
    });
    const removed = lines.toSpliced(at, 1);
    expect((await verified(removed.join("\n"))).err).toContain(`at record ${seq},`);
    const moved = lines.with(at, lines[at + 1] ?? "").with(at + 1, lines[at] ?? "");
    expect((await verified(moved.join("\n"))).code).toBe(1);
    expect(await verified(out, "--trust", "A".repeat(43))).toMatchObject({ code: 1, err: expect.stringContaining("[key_untrusted]") });
    expect(await run(["verify", join(operator.home, "nothing")])).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot be read"),
    });
  });

  test("an export with separators of lines within its texts, a byte order mark or line ends of Windows is verified", async () => {
    const clientId = "a\u2028b\u2029c\u0085d";
    await auditLog(server.database.sql).record(anAudit("client.refused", { outcome: "failure", reason: "with_separators", clientId }));
    await sealed();
    await signed();
    const { out } = await run(["export"]);
    expect(out).toContain(clientId);
    for (const text of [out, `\ufeff${out}`, out.replaceAll("\n", "\r\n")])
      expect(await verified(text)).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^sound: /) });
    const piped = spawnSync(join(import.meta.dirname, "../../bin/countersign"), ["audit", "verify", "-"], { input: out, encoding: "utf8" });
    expect([piped.status, piped.stderr, piped.stdout]).toEqual([0, "", expect.stringMatching(/^sound: /)]);
  });

  test("a file that is empty or in UTF-16, as programs of Windows write it, is not called an altered trail", async () => {
    expect(await verified("")).toMatchObject({ code: 1, out: "", err: expect.stringMatching(/^\S+\.ndjson is empty\.\n$/) });
    const file = fileOf("");
    writeFileSync(file, Buffer.from('\ufeff{"type":"header"}\r\n', "utf16le"));
    expect(await run(["verify", file])).toMatchObject({ code: 1, out: "", err: `${file} is not UTF-8.\n` });
  });

  test("tail prints the requested number of records, filters by user id or email address, and rejects malformed ids and numbers", async () => {
    await Promise.all(Array.from({ length: 230 }, issue));
    await sealed();
    const { out } = await run(["tail", "-n", "225", "--client", "worker", "--json"]);
    const numbers = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).seq);
    expect(new Set(numbers).size).toBe(225);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    const { id, email } = await server.signedInUser({ verified: false });
    await sealed();
    const byAddress = await run(["tail", "--user", email.toUpperCase()]);
    expect(byAddress.out).toContain(`user=${id}`);
    expect(byAddress.out).toBe((await run(["tail", "--user", id])).out);
    expect(await run(["tail", "--user", "unknown@example.test"])).toMatchObject({
      code: 4,
      out: "",
      err: "No user has the e-mail address unknown@example.test.\n",
    });
    expect(await run(["tail", "--user", "unknown"])).toMatchObject({ code: 1, out: "", err: "--user: not an id\n" });
    expect(await run(["tail", "--grant", "nope"])).toMatchObject({ code: 1, out: "", err: "--grant: not an id\n" });
    await expect(run(["tail", "-n", "10001"])).rejects.toThrow("at most 10000");
  });

  test("tail escapes control characters and changes of direction, also in JSON", async () => {
    const note = "\u009b31m\u202e";
    await auditLog(server.database.sql).record(anAudit("client.refused", { outcome: "failure", reason: "made_up", clientId: note, note }));
    await sealed();
    for (const words of [[], ["--json"]]) {
      const { out } = await run(["tail", "--event", "client.refused", "--reason", "made_up", ...words]);
      expect([out.trim().split("\n").length, /[\u009b\u202e]/.test(out)]).toEqual([1, false]);
      if (words.length > 0) expect(JSON.parse(out)).toMatchObject({ clientId: note, note });
      else expect(out).toMatch(/ client=.*31m.* note=.*31m/);
    }
  });

  test("tail prints the newest matching records, and with --follow each new record once", async () => {
    await issue();
    await sealed();
    const { out } = await run(["tail", "-n", "3", "--event", "token.issued", "--client", "worker", "--json"]);
    const shown = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(shown.map(({ event, clientId }) => [event, clientId])).toEqual(Array(3).fill(["token.issued", "worker"]));
    expect(shown[0].seq).toBeLessThan(shown[2].seq);
    let reads = 0;
    const followed = await run(["tail", "-n", "0", "-f", "--client", "poster"], async () => {
      reads += 1;
      await issue();
      const form = { client_id: "poster", client_secret: "poster-secret", grant_type: "client_credentials", scope: "notes:read" };
      await server.form("/oauth/token", form);
      await sealed();
      return reads < 3;
    });
    // Records before the last read are printed; the last read only ends the command.
    expect(followed.out.trimEnd().split("\n")).toEqual(
      Array.from({ length: 2 }, () =>
        expect.stringMatching(/^\d+ \S+Z token\.issued success client:poster client=poster grantType=client_credentials /),
      ),
    );
    expect((await run(["tail", "--event", "nothing.such"])).code).toBe(1);
  });

  test("tail shows a span of time, and what named a resource", async () => {
    const resource = "https://span.example.test/mcp";
    const { id } = await admin.operator.clients.create.mutate({ name: "Span", grantTypes: ["client_credentials"], audience: [resource] });
    for (let n = 0; n < 21; n++) await admin.operator.clients.update.mutate({ id, patch: { scopes: [`span:${n}`] } });
    await sealed();
    const count = async (...words: string[]) => {
      const { out, code } = await run(["tail", "--resource", resource, "--event", "client.changed", ...words]);
      return [code, out === "" ? 0 : out.trimEnd().split("\n").length];
    };
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    expect(await count()).toEqual([0, 20]);
    expect(await count("--since", "1h")).toEqual([0, 21]);
    expect(await count("--since", day(-1), "--until", `${day(2)}T00:00+01:00`)).toEqual([0, 21]);
    expect(await count("--since", `${day(1)}T23:59`)).toEqual([0, 0]);
    expect(await count("--until", day(-1))).toEqual([0, 0]);
    expect(await count("--since", "1h", "-n", "2")).toEqual([0, 2]);
    let reads = 0;
    const between = async () => {
      if (reads === 0) await admin.operator.clients.update.mutate({ id, patch: { scopes: [] } });
      await sealed();
      return reads++ < 1;
    };
    const { out } = await run(["tail", "-n", "0", "--follow", "--resource", resource], between);
    expect(out).toMatch(/^\d+ \S+ client\.changed success \(scopes\) [^\n]*\n$/);
  });

  test.each(["yesterday", "1w", "2026-13-01", "2026-10-01 08:00", "1795897181071", ""])("tail refuses %j as a time", async (time) => {
    await expect(run(["tail", "--since", time])).rejects.toMatchObject({ code: "commander.invalidArgument" });
  });

  test("tail --follow outlives a server that is away for a while, and misses nothing", async () => {
    let away = false;
    const target = new URL(server.url);
    const open = new Set<Socket>();
    const proxy = createServer((socket) => {
      open.add(socket);
      const onward = connect(Number(target.port), target.hostname);
      for (const side of [socket, onward]) side.on("error", () => side.destroy());
      if (away) socket.destroy();
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const terminal = aTerminal({ serverUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, ...OPERATOR });
    onTestFinished(() => {
      terminal.leave();
      proxy.close();
    });
    let reads = 0;
    const between = async () => {
      reads += 1;
      away = reads === 2 || reads === 3;
      if (away) for (const socket of open) socket.destroy();
      await issue();
      await sealed();
      return reads < 5;
    };
    const command = ["audit", "tail", "-n", "0", "-f", "--client", "worker", "--event", "token.issued"];
    const { out, err, code } = await terminal.run([(program, own) => registerAuditCommands(program, own, between)], command);
    expect([code, out.trimEnd().split("\n").length, err]).toEqual([0, 4, expect.stringMatching(/^The server does not answer[^\n]*\n$/)]);
  });

  test("tail --follow acts as the same user while another one signs in", async () => {
    const { terminal, run: runIn, leave } = aTerminal({ serverUrl: server.url, email: undefined, password: undefined });
    onTestFinished(leave);
    const { login } = await server.signedInUser({ verified: false });
    const keep = async (email: string, accessToken: string) =>
      withSessionLock(terminal, () =>
        keepSession(`${server.url}/`, email, { accessToken, refreshToken: "", expiresAt: 4e9 }, terminal, "sign-in"),
      );
    await keep(OPERATOR.email, (await aBrowser(server.url).json("/auth/login", OPERATOR)).body.access_token);
    let reads = 0;
    const between = async () => {
      if (reads === 0) await keep("another@example.test", login.access_token);
      await issue();
      await sealed();
      return reads++ < 1;
    };
    const command = ["audit", "tail", "-n", "0", "-f", "--client", "worker", "--event", "token.issued"];
    const { out, err, code } = await runIn([(program, own) => registerAuditCommands(program, own, between)], command);
    expect([code, err, out.trimEnd().split("\n").length]).toEqual([0, "", 1]);
  });

  test("is followed live, record by record, as it is sealed", async () => {
    const { body } = await aBrowser(server.url).json("/auth/login", OPERATOR);
    const input = encodeURIComponent(JSON.stringify({ event: "token.issued", clientId: "worker" }));
    const headers = { authorization: `Bearer ${body.access_token}` };
    const events = eventsOf(await fetch(`${server.url}/trpc/live.audit?input=${input}`, { headers }));
    await nextEvent(events, "connected");
    await issue();
    const seen: unknown[] = [];
    while (seen.length === 0) seen.push(...JSON.parse((await nextEvent(events)).data).records);
    expect(seen[0]).toMatchObject({ event: "token.issued", seq: expect.any(Number) });
    await events.return();
  });

  test("is readable only by operators", async () => {
    const { login } = await server.signedInUser({ verified: false });
    const { audit } = createAdminClient({ url: server.url, token: login.access_token }).operator;
    for (const refusal of [audit.chain.query(), audit.export.query({}), audit.follow.query({})].map(refusedWith)) {
      expect(await refusal).toMatchObject({ error: "forbidden" });
    }
  });
});

describe("refusals that write an audit record", () => {
  const list = async (filter: NonNullable<Parameters<typeof admin.operator.audit.list.query>[0]>) =>
    (await admin.operator.audit.list.query(filter)).records;

  test("a failed sign-in is recorded for known and unknown addresses, without what was typed", async () => {
    const { email, id } = await server.signedInUser({ verified: false });
    const browser = aBrowser(server.url);
    await browser.json("/auth/login", { email, password: "canary-of-a-password" });
    await browser.json("/auth/login", { email: "canary-of-a-password@example.test", password: "canary-of-a-password" });
    const [unknown, known] = await list({ event: "session.refused", limit: 2 });
    expect(known).toMatchObject({ outcome: "failure", reason: "password_wrong", userId: id, ip: expect.any(String) });
    expect(unknown).toMatchObject({ outcome: "failure", reason: "account_unknown", requestId: expect.any(String) });
    expect(unknown).not.toHaveProperty("userId");
    await sealed();
    expect((await run(["export"])).out).not.toContain("canary");
  });

  test("a sign-out by an application's token is recorded with its client", async () => {
    const { browser, id } = await server.signedInUser();
    const { access_token } = await server.tokens(server.clients.web, browser);
    const headers = { authorization: `Bearer ${access_token}` };
    expect((await fetch(`${server.url}/auth/logout`, { method: "POST", headers })).status).toBe(200);
    expect(await list({ event: "session.ended", userId: id })).toMatchObject([
      { reason: "signed_out_everywhere", clientId: "web", actor: { type: "user", id } },
    ]);
  });

  test("a refused token request of an authenticated client is recorded with its reason, that of a public client is not", async () => {
    await server.token(server.clients.oneShot, {
      grant_type: "authorization_code",
      code: "c".repeat(43),
      redirect_uri: "x",
      code_verifier: "v".repeat(43),
    });
    await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "crm:admin" });
    await server.refresh(server.clients.publicApp, "0".repeat(64));
    expect(await list({ event: "token.refused", clientId: "one-shot" })).toMatchObject([
      { outcome: "failure", reason: "code_unknown", grantType: "authorization_code", requestId: expect.any(String) },
    ]);
    expect(await list({ event: "token.refused", clientId: "worker" })).toMatchObject([{ grantType: "client_credentials" }]);
    expect(await list({ event: "token.refused", clientId: "public-app" })).toEqual([]);
  });

  test("a denied consent is recorded", async () => {
    const { browser, id } = await server.signedInUser({ verified: false });
    const { challenge } = server.pkce();
    const page = await browser.follow(server.authorizeUrl(server.clients.web, { code_challenge: challenge, scope: "openid notes:read" }));
    await browser.submit(page, { decision: "deny" });
    expect(await list({ event: "consent.denied", userId: id })).toMatchObject([
      { outcome: "failure", clientId: "web", scope: "openid notes:read", actor: { type: "user", id } },
    ]);
  });

  test("a client that fails authentication a hundred times in a minute is recorded once", async () => {
    const wrong = { ...server.clients.other, secret: "wrong" };
    for (let round = 0; round < 11; round++) {
      await Promise.all(Array.from({ length: 10 }, () => server.token(wrong, { grant_type: "client_credentials", scope: "openid" })));
    }
    await expect
      .poll(() => list({ event: "client.refused", clientId: "other" }))
      .toMatchObject([{ outcome: "failure", reason: "client_authentication_throttled" }]);
  });

  test("the first 100 refused exchanges of a public client in a minute are recorded; later ones return 429 and are not", async () => {
    const { body: registered } = await aBrowser(server.url).json("/oauth/register", {
      client_name: "Open",
      redirect_uris: ["https://app.example.test/callback"],
      token_endpoint_auth_method: "none",
    });
    const exchange = () =>
      server.token(
        { ...server.clients.publicApp, clientId: registered.client_id },
        { grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: "x" },
      );
    const statuses: number[] = [];
    for (let round = 0; round < 130; round++) statuses.push((await exchange()).status);
    expect(statuses).toEqual([...Array<number>(100).fill(401), ...Array<number>(30).fill(429)]);
    await sealed();
    const { records } = await admin.operator.audit.list.query({ clientId: registered.client_id, reason: "public_client", limit: 200 });
    expect(records).toHaveLength(100);
    expect(await list({ event: "client.refused", clientId: registered.client_id })).toHaveLength(1);
  });
});
