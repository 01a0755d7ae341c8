import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountPorts } from "../../src/accounts/account-ports.ts";
import type { Caller } from "../../src/accounts/caller.ts";
import { fairQueue } from "../../src/accounts/fair-queue.ts";
import { passwordAttempts } from "../../src/accounts/password-attempts.ts";
import type { PasswordHashing } from "../../src/accounts/password-hash.ts";
import { signIn } from "../../src/accounts/sign-in.ts";
import { systemClock } from "../../src/clock.ts";
import { Refusal } from "../../src/errors.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { monotonicSeconds } from "../../src/store/ephemeral/memory.ts";
import type { Database } from "../../src/store/orm.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { sessions } from "../../src/store/sessions.ts";
import { knownDevices, signInFailures } from "../../src/store/sign-in-failures.ts";
import type { Sql } from "../../src/store/sql.ts";
import { users } from "../../src/store/users.ts";
import { aHash, anAudit, aUser, auditOf, OPEN_SIGN_UP } from "../support/accounts.ts";
import { databaseKinds } from "../support/database.ts";

const caller = (address: string): Caller => ({ address, limitKey: address, requestId: "r", userAgent: "", language: "en" });
const HOME = caller("192.0.2.1");
const refusal = () => new Refusal("temporarily_unavailable", "queue_full", { retryAfter: 1 });

/** The hash is the password itself; with `full`, the hashing queue refuses. */
function hashing() {
  const state = { full: false, compared: 0 };
  const passwords: PasswordHashing = {
    hash: async (password) => {
      if (state.full) throw refusal();
      return password;
    },
    verify: async (encoded, password) => {
      if (state.full) throw refusal();
      state.compared += 1;
      return encoded === password ? { kind: "right", outdated: false } : { kind: "wrong" };
    },
  };
  return { state, passwords };
}

describe.for(databaseKinds)("sign-in attempts under load on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  function portsOver(sql: Sql) {
    const { state, passwords } = hashing();
    const ports = {
      users: users(sql),
      sessions: sessions(sql),
      refusals: auditLog(sql),
      attempts: passwordAttempts(
        signInFailures(sql),
        knownDevices(sql),
        monotonicSeconds,
        fairQueue({ width: 0, queue: 0, share: 0, wait: 0 }),
      ),
      passwords,
      clock: systemClock,
      randomBytes,
      sessionTtl: 60,
      signUpPolicy: OPEN_SIGN_UP,
    } as unknown as AccountPorts; // a sign-in by password uses no others
    return { ports, state };
  }
  const codes = async (count: number, one: () => Promise<unknown>): Promise<readonly string[]> => {
    const all: string[] = [];
    for (let n = 0; n < count; n++)
      all.push(
        await one().then(
          () => "done",
          (error) => error.code ?? String(error),
        ),
      );
    return [...new Set(all)];
  };

  test("30 sign-ins that the hashing queue refuses do not count as failures", async () => {
    const { ports, state } = portsOver(database.sql);
    const user = await aUser(database.sql, { passwordHash: "right password" });
    state.full = true;
    const right = () => signIn({ email: user.email, password: "right password" }, ports, HOME);
    expect(await codes(30, right)).toEqual(["temporarily_unavailable"]);
    state.full = false;
    const wrong = () => signIn({ email: user.email, password: "wrong" }, ports, HOME);
    expect(await codes(9, wrong)).toEqual(["unauthenticated"]);
    await signIn({ email: user.email, password: "right password" }, ports, HOME);
  });

  test("a sign-in succeeds though the hashing queue refuses to rehash its password", async () => {
    const { ports } = portsOver(database.sql);
    const user = await aUser(database.sql, { passwordHash: "old parameters" });
    const outdated: PasswordHashing = { verify: async () => ({ kind: "right", outdated: true }), hash: () => Promise.reject(refusal()) };
    const signedIn = await signIn({ email: user.email, password: "x" }, { ...ports, passwords: outdated }, HOME);
    expect(signedIn).toMatchObject({ user: { id: user.id } });
    expect((await users(database.sql).byEmail(user.email))?.passwordHash).toBe("old parameters");
  });

  test("rehashing a password does not undo a reset of it", async () => {
    const { ports } = portsOver(database.sql);
    const user = await aUser(database.sql, { passwordHash: "old parameters" });
    const link = aHash();
    const mail = { subject: "", text: "", html: "" };
    await passwordChanges(database.sql).issueReset(user.email, { tokenHash: link, ttl: 60 }, mail, anAudit("password.reset_requested"));
    const outdated: PasswordHashing = {
      verify: async () => ({ kind: "right", outdated: true }),
      async hash() {
        await passwordChanges(database.sql).reset(link, "new password", mail, anAudit("password.changed"));
        return "old password again";
      },
    };
    await signIn({ email: user.email, password: "x" }, { ...ports, passwords: outdated }, HOME);
    expect((await users(database.sql).byEmail(user.email))?.passwordHash).toBe("new password");
  });

  test("a sign-in whose password is changed while it is compared is recorded as one with a wrong password", async () => {
    const { ports } = portsOver(database.sql);
    const user = await aUser(database.sql, { passwordHash: "old password" });
    const [link, mail] = [aHash(), { subject: "", text: "", html: "" }];
    await passwordChanges(database.sql).issueReset(user.email, { tokenHash: link, ttl: 60 }, mail, anAudit("password.reset_requested"));
    const passwords: PasswordHashing = {
      ...ports.passwords,
      async verify() {
        await passwordChanges(database.sql).reset(link, "new password", mail, anAudit("password.changed"));
        return { kind: "right", outdated: false };
      },
    };
    const signingIn = signIn({ email: user.email, password: "old password" }, { ...ports, passwords }, HOME);
    await expect(signingIn).rejects.toMatchObject({ code: "unauthenticated", reason: "password_wrong" });
    const records = await auditOf(database.sql, "session.refused");
    expect(records.filter(({ user_id }) => user_id === user.id)).toMatchObject([{ reason: "password_wrong" }]);
  });

  test("30 sign-ins that fail with a database error do not count as failures", async () => {
    let broken = false;
    const faulty: Sql = {
      ...database.sql,
      query: async (statement, parameters) => {
        if (broken && statement.name === "user_by_email") throw refusal();
        return database.sql.query(statement, parameters);
      },
    };
    const { ports } = portsOver(faulty);
    const user = await aUser(database.sql, { passwordHash: "right password" });
    broken = true;
    const attempt = () => signIn({ email: user.email, password: "right password" }, ports, HOME);
    expect(await codes(30, attempt)).toEqual(["temporarily_unavailable"]);
    broken = false;
    await attempt();
  });

  test("64 concurrent wrong passwords in two processes: at most 10 are compared", async () => {
    const user = await aUser(database.sql, { passwordHash: "right password" });
    const processes = [portsOver(database.sql), portsOver(database.sql)];
    const guesses = Array.from({ length: 64 }, (_, n) =>
      signIn({ email: user.email, password: `guess ${n}` }, (processes[n % 2] as (typeof processes)[0]).ports, caller("192.0.2.64")),
    );
    const outcomes = await Promise.allSettled(guesses);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    expect(processes.reduce((sum, { state }) => sum + state.compared, 0)).toBeLessThanOrEqual(10);
  });

  test("1,000 accounts tried from one address in two processes: at most 100 passwords are compared", async () => {
    const processes = [portsOver(database.sql), portsOver(database.sql)];
    const from = caller("2001:db8:0:1::/64");
    const codesOf = await Promise.all(
      processes.map(async ({ ports }, process) => {
        const all = new Set<string>();
        for (let n = 0; n < 500; n++) {
          const credentials = { email: `user${process}-${n}@example.test`, password: "Password1" };
          all.add(await signIn(credentials, ports, from).then(String, (error) => error.code));
        }
        return [...all].sort();
      }),
    );
    expect(codesOf).toEqual(processes.map(() => ["too_many_requests", "unauthenticated"]));
    expect(processes.reduce((sum, { state }) => sum + state.compared, 0)).toBe(100);
    const user = await aUser(database.sql, { passwordHash: "right password" });
    await signIn({ email: user.email, password: "right password" }, (processes[0] as (typeof processes)[0]).ports, HOME);
  });
});
