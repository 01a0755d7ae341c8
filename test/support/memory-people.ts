import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { passwordHashing } from "../../src/accounts/password-hash.ts";
import type { Consent, Mail, PendingRequest, Session, User } from "../../src/accounts/ports.ts";
import { REGISTRATION_LIMIT, RESEND_ADDRESS_LIMIT, RESEND_MAILBOX_LIMIT } from "../../src/accounts/registration.ts";
import { FIRST_PARTY_CLIENT_ID } from "../../src/clients/client.ts";
import { systemClock } from "../../src/clock.ts";
import { tokenCore } from "../../src/core/service.ts";
import { openKeys, signingKey } from "../../src/core/signing/keys.ts";
import { createApp } from "../../src/front/app.ts";
import { lifecycle } from "../../src/front/lifecycle.ts";
import { peopleRoutes } from "../../src/front/people.ts";
import type { PeoplePorts } from "../../src/front/people-ports.ts";
import { localTokenCore } from "../../src/grpc/local.ts";
import type { SecretHash } from "../../src/secret.ts";
import { aClient } from "./builders.ts";

const hex = (hash: SecretHash) => Buffer.from(hash).toString("hex");
const REALM = { id: "01900000-0000-7000-8000-000000000002" };

/** The tables of one test, in memory. */
export function memoryPeople() {
  const now = systemClock;
  const users = new Map<string, { user: User; passwordHash: string | null }>();
  const verifications = new Map<string, string>();
  const sessions = new Map<string, Session>();
  const consents = new Map<string, Consent>();
  const pending = new Map<string, PendingRequest>();
  const failures = new Map<string, number>();
  const mails: Mail[] = [];
  const find = (email: string) => [...users.values()].find(({ user }) => user.email.toLowerCase() === email.toLowerCase());
  const limiter = ({ points, seconds }: { points: number; seconds: number }) => {
    const hits = new Map<string, number>();
    return {
      hit: async (key: string) => {
        hits.set(key, (hits.get(key) ?? 0) + 1);
        return (hits.get(key) ?? 0) > points ? seconds : 0;
      },
    };
  };
  const ports = {
    users: {
      register: async (user, verification, mail) => {
        if (find(user.email)) return undefined;
        const { passwordHash, ...rest } = user;
        const stored = { ...rest, enabled: true, createdAt: now(), updatedAt: null };
        users.set(user.id, { user: stored, passwordHash });
        verifications.set(hex(verification.tokenHash), user.id);
        mails.push(mail);
        return stored;
      },
      byId: async (id) => users.get(id)?.user,
      byEmail: async (email) => find(email),
      issueVerification: async (userId, verification, mail) => {
        for (const [key, id] of verifications) if (id === userId) verifications.delete(key);
        verifications.set(hex(verification.tokenHash), userId);
        mails.push(mail);
      },
      verifyEmail: async (tokenHash) => {
        const row = users.get(verifications.get(hex(tokenHash)) ?? "");
        verifications.delete(hex(tokenHash));
        if (!row) return undefined;
        row.user = { ...row.user, emailVerified: true, updatedAt: now() };
        return row.user;
      },
      replacePasswordHash: async (userId, passwordHash) => {
        const row = users.get(userId);
        if (row) row.passwordHash = passwordHash;
      },
    },
    signInFailures: {
      count: async (key, limit, window) => {
        failures.set(hex(key), (failures.get(hex(key)) ?? 0) + 1);
        return (failures.get(hex(key)) ?? 0) > limit ? window : 0;
      },
      clear: async (key) => void failures.delete(hex(key)),
    },
    sessions: {
      start: async ({ id, hash, userId, ttl, replaces }) => {
        if (replaces) sessions.delete(hex(replaces));
        const session = { id, userId, authTime: now(), expiresAt: now() + ttl };
        sessions.set(hex(hash), session);
        return session;
      },
      byHash: async (hash) => {
        const session = sessions.get(hex(hash));
        const user = session && users.get(session.userId)?.user;
        return session && user ? { session, user } : undefined;
      },
      end: async (hash) => void sessions.delete(hex(hash)),
      endAll: async (userId) => {
        for (const [key, session] of sessions) if (session.userId === userId) sessions.delete(key);
      },
    },
    consents: {
      ofUser: async (userId) => [...consents.values()].filter((consent) => consent.userId === userId),
      give: async (given) => {
        const key = `${given.userId} ${given.clientId}`;
        const before = consents.get(key);
        consents.set(key, {
          ...given,
          id: before?.id ?? given.id,
          scopes: [...new Set([...(before?.scopes ?? []), ...given.scopes])],
          resources: [...new Set([...(before?.resources ?? []), ...given.resources])],
          createdAt: before?.createdAt ?? now(),
          updatedAt: before ? now() : null,
          lastUsedAt: null,
        });
      },
      revoke: async (id, userId) => {
        const [key] = [...consents].find(([, consent]) => consent.id === id && consent.userId === userId) ?? [];
        return key !== undefined && consents.delete(key);
      },
    },
    pendingRequests: {
      put: async (idHash, query) => void pending.set(hex(idHash), { query, createdAt: now() }),
      byId: async (idHash) => pending.get(hex(idHash)),
      take: async (idHash) => {
        const request = pending.get(hex(idHash));
        pending.delete(hex(idHash));
        return request;
      },
    },
    realms: { byId: async (id) => (id === REALM.id ? REALM : undefined), default: async () => REALM },
    limits: {
      registration: limiter(REGISTRATION_LIMIT),
      resendMailbox: limiter(RESEND_MAILBOX_LIMIT),
      resendAddress: limiter(RESEND_ADDRESS_LIMIT),
    },
    passwords: passwordHashing({ randomBytes }),
    clock: now,
    randomBytes,
    sessionTtl: 28800,
  } satisfies Omit<PeoplePorts, "core" | "issuer" | "fault">;
  const mailsTo = async (email: string) => mails.filter(({ to }) => to === email).map(({ text, html }) => text + html);
  return { ports, mailsTo, users, sessions, consents };
}

const key = () => signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());

/** A front for people on a free loopback port, with a real core whose stores are in memory. */
export async function startPeople(clients = [aClient()]) {
  const memory = memoryPeople();
  const faults: unknown[] = [];
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const signing = key();
  const keys = await openKeys(signing, signing, [], { publish: async (published) => published });
  const firstParty = aClient({ clientId: FIRST_PARTY_CLIENT_ID, tokenEndpointAuthMethod: "none", origin: "built_in" });
  const absent = async (): Promise<never> => {
    throw new Error("not in this test");
  };
  const core = localTokenCore(
    tokenCore({
      issuer,
      lifetimes: {
        accessToken: 900,
        idToken: 900,
        refreshToken: 1e6,
        refreshFamilyMax: 1e6,
        refreshReuseGrace: 0,
        authorizationCode: 60,
      },
      clock: systemClock,
      randomBytes,
      keys,
      clients: { byClientId: async (id) => [...clients, firstParty].find(({ clientId }) => clientId === id) },
      codes: { issue: async () => true, byHash: absent, redeem: absent },
      families: { holding: absent, rotate: absent, revoke: absent },
      grants: { open: async () => true, revoke: absent },
      tokens: {
        of: async ({ userId = "" }) => {
          const user = memory.users.get(userId)?.user;
          return { revoked: false, grantLives: true, clientEnabled: true, subject: user && { ...user, userId } };
        },
        revoke: absent,
      },
      consents: { of: async (userId, clientId) => memory.consents.get(`${userId} ${clientId}`) },
      throttle: { assertOpen() {}, failed() {} },
      audit: { record: async () => {}, recordIssue: async () => {} },
    }),
  );
  const ports: PeoplePorts = { ...memory.ports, issuer, core, fault: ({ error }) => faults.push(error) };
  const app = createApp({
    issuer,
    groups: peopleRoutes(ports),
    telemetry: { observe() {}, fault: ({ error }) => faults.push(error) },
    lifecycle: lifecycle(),
    requestId: () => randomBytes(4).toString("hex"),
    trustProxy: true,
  });
  server.on("request", app);
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { ...memory, ports, url: issuer, faults, close };
}
