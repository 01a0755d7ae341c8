import { randomBytes } from "node:crypto";
import type { NewUser, Session, User } from "../../src/accounts/ports.ts";
import type { SignUpPolicy } from "../../src/accounts/sign-up-policy.ts";
import type { AuditEntry, AuditEvent } from "../../src/audit.ts";
import { systemClock } from "../../src/clock.ts";
import { hashSecret, newId, type SecretHash } from "../../src/random.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { statement } from "../../src/store/sql.ts";
import { users } from "../../src/store/users.ts";

export const DEFAULT_REALM_ID = "00000000-0000-7000-8000-000000000001";

/** What a server without SIGN_UP and DEVELOPERS has. */
export const OPEN_SIGN_UP: SignUpPolicy = { mode: "open", domains: [], developers: "all" };

export const anId = (): string => newId(systemClock, randomBytes);
export const aHash = (): SecretHash => hashSecret(randomBytes(32).toString("hex"));

export const anAudit = (event: AuditEvent, more: Partial<AuditEntry> = {}): AuditEntry => ({
  event,
  outcome: "success",
  actor: { type: "service", id: "test" },
  ...more,
});

export const aNewUser = (more: Partial<NewUser> = {}): NewUser => {
  const id = anId();
  return {
    id,
    email: `${id}@example.test`,
    realmId: DEFAULT_REALM_ID,
    firstName: "Ada",
    lastName: null,
    role: "developer",
    emailVerified: false,
    passwordHash: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA",
    ...more,
  };
};

export async function aUser(sql: Sql, more: Partial<NewUser> = {}): Promise<User> {
  const user = await users(sql).register(
    aNewUser(more),
    { tokenHash: aHash(), ttl: 86_400 },
    { to: "x@example.test", subject: "s", text: "t", html: "h" },
    anAudit("user.registered"),
  );
  if (user === undefined) throw new Error("the address of a test user is taken");
  return user;
}

/** A session that was just started. */
export async function aSessionOf(sql: Sql, userId: string): Promise<Session> {
  const session = await sessions(sql).start({ id: anId(), hash: aHash(), userId, ttl: 3_600 }, anAudit("session.started"));
  if (session === undefined) throw new Error("a test user can sign in");
  return session;
}

/** The audit records of one event, oldest first. */
export const auditOf = (
  sql: Sql,
  event: AuditEvent,
): Promise<{ user_id: string | null; client_id: string | null; reason: string | null; grant_id: string | null }[]> =>
  sql.query(statement("test_audit_of", "select user_id, client_id, reason, grant_id from audit_records where event = $1 order by id"), [
    event,
  ]);

const CONNECT = statement(
  "test_connect",
  `insert into connections (realm_id, name, title, protocol, issuer, client_id, auth_method, scopes)
   values ($1::uuid, $2, 'Acme', 'oidc', $3, 'us', 'none', '{openid}') on conflict (name) do nothing`,
);

/** Lets users sign in by a provider, in the default realm. */
export const connectProvider = (sql: Sql, issuer: string, name = "acme"): Promise<unknown> =>
  sql.query(CONNECT, [DEFAULT_REALM_ID, name, issuer]);
