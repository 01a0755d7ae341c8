import type { Account, MailMessage, OwnSession, User } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import type { ManagedRecords } from "../clients/ports.ts";
import type { Filter } from "../paging.ts";
import type { Connection, ConnectionSettings, NewConnection, OfferedConnection } from "./connection.ts";

/** A user as a provider names them. `issuer` and `subject` are the identity; all else describes it. */
export interface UpstreamIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  readonly acr: string | undefined;
  readonly amr: readonly string[];
  /** When the user proved to the provider who they are, in seconds since the epoch; now if it does not say. */
  readonly authTime?: number | undefined;
  /** The provider's session. */
  readonly sid: string | undefined;
}

export type Identity = Pick<UpstreamIdentity, "issuer" | "subject">;

/** What the browser brings back must match. `verifier` is that of PKCE. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** For a user who must prove again who they are: how many seconds ago the provider may have seen the proof. */
  readonly maxAge?: number | undefined;
}

/** What a test of a connection found: fixed words. */
export type ConnectionVerdict =
  | { readonly kind: "works" }
  /** `stage` is where it failed, `reason` a fixed word. */
  | { readonly kind: "fails"; readonly stage: "metadata" | "credentials"; readonly reason: string };

/** A user, a session or both that ended at a provider. `remember`: seconds for which the token could be presented again. */
export interface UpstreamLogout {
  readonly jti: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
  readonly remember: number;
}

export interface Providers {
  /** The address to which the browser is sent. @throws {Refusal} temporarily_unavailable when the provider cannot be reached or used */
  authorizationUrl(connection: Connection, secrets: SignInSecrets, more: AuthorizationHints): Promise<string>;
  /** The identity that an authorization response proves. @param url with its query @throws {Refusal} access_denied, temporarily_unavailable */
  identityOf(connection: Connection, url: URL, secrets: SignInSecrets): Promise<UpstreamIdentity>;
  /** The logout that a token of the provider reports. @throws {Refusal} invalid_request, temporarily_unavailable */
  logoutOf(connection: Connection, token: string): Promise<UpstreamLogout>;
  /** Checks metadata and credentials of a connection, without a user. */
  test(connection: Connection): Promise<ConnectionVerdict>;
}

/** `again`: the user must prove again who they are. */
export type AuthorizationHints = { readonly loginHint?: string | undefined; readonly again: boolean };

export interface Connections {
  /** The enabled connections, the oldest first: of all realms, since who signs in, and to which realm they belong, is not known yet. */
  offered(): Promise<readonly OfferedConnection[]>;
  /** Also a disabled one: its provider still reports logouts. */
  byName(name: string): Promise<Connection | undefined>;
}

export const CONNECTION_SORTS = ["name", "created"] as const;
export type ConnectionSort = (typeof CONNECTION_SORTS)[number];

/** Connections as operators manage them; the secret of a change is sealed. Searched are name, title and issuer. Links of users stay when one is removed. */
export type ManagedConnections = ManagedRecords<
  "name",
  Connection,
  NewConnection,
  ConnectionSettings & Pick<Connection, "secret">,
  Filter<Connection, "enabled" | "realmId">,
  ConnectionSort
>;

/** An identity of a user. Times in seconds since the epoch, with their fraction. */
export interface LinkedIdentity extends Identity {
  readonly email: string | null;
  readonly createdAt: number;
  /** Of a connection with the issuer; null when it was removed. */
  readonly title: string | null;
  /** Whether it may sign in. False: only identity assertions of the issuer name the user by it. */
  readonly confirmed: boolean;
}

export type UpstreamUser = Pick<User, "id" | "realmId" | "email" | "firstName" | "lastName" | "role">;

export interface LinkedUser extends Pick<Account, "user" | "hasSecondFactor"> {
  /** False: an identity assertion linked it to an account with other ways in. */
  readonly confirmed: boolean;
}

export interface IdentityLinks {
  userOf(identity: Identity): Promise<LinkedUser | undefined>;
  /**
   * Opens an account with a verified address for an identity, atomically with the link. Of any number of callers one opens it.
   * @returns false when the identity has a user or the address an account, or the provider no enabled connection
   */
  open(user: UpstreamUser, identity: UpstreamIdentity, audits: readonly AuditEntry[]): Promise<boolean>;
  /**
   * Links an identity to the user of a session and queues the mail.
   * @returns `taken` for an identity of another user, and where the connection has ended; `known` for one of this user's
   * @throws {Refusal} login_required when the session has ended
   */
  link(session: OwnSession, identity: UpstreamIdentity, mail: MailMessage, audit: AuditEntry): Promise<"linked" | "known" | "taken">;
  /**
   * Unlinks an identity from the user of a session and queues the mail.
   * @returns `last` when the user could not sign in any more
   * @throws {Refusal} login_required when the session has ended
   */
  unlink(session: OwnSession, identity: Identity, mail: MailMessage, audit: AuditEntry): Promise<"unlinked" | "last" | "unknown">;
  ofUser(userId: string): Promise<readonly LinkedIdentity[]>;
  /** Ends the sessions that the provider's session or user started. @returns false for a token that was used before */
  endSessions(issuer: string, logout: UpstreamLogout, audit: AuditEntry): Promise<boolean>;
}
