import type { Consent } from "../accounts/ports.ts";
import type { SignUpPolicy } from "../accounts/sign-up-policy.ts";
import type { AuditEntry } from "../audit.ts";
import type { Link, SealedRecord, SignedCheckpoint } from "../audit-chain/chain.ts";
import type { TokenCore } from "../grpc/local.ts";
import type { Page, Part } from "../paging.ts";
import type { Report } from "../resources/ports.ts";
import type { AuditFilter } from "./inputs.ts";

/** A consent, and the address of the user who gave it. */
export type ClientConsent = Consent & { readonly email: string };

/** Of up to TOTAL_LIMIT consents, and one more if there are more. */
export interface ConsentCounts {
  readonly total: number;
  /** Those by which the client got a token within the last 30 days. */
  readonly usedLately: number;
}

/** What users allowed one client: a registered one, or one that publishes a document. */
export interface ClientConsents {
  /** Newest first. `search`: a part of the user's e-mail address, without regard to case; or the id of a consent. */
  list(clientId: string, filter: { readonly search?: string | undefined }, part: Part<"created">): Promise<Page<ClientConsent>>;
  counts(clientId: string): Promise<ConsentCounts>;
}

/** A metadata document as it was fetched. Times in seconds since the epoch, with their fraction. */
export interface DocumentVersion {
  /** Counts from 1. */
  readonly version: number;
  readonly document: string;
  /** SHA-256 of the document, in hexadecimal; its size in bytes. */
  readonly digest: string;
  readonly size: number;
  /** When it was first and last fetched. */
  readonly createdAt: number;
  readonly seenAt: number;
}

export interface DocumentHistory {
  /** The newest versions, the newest first; empty for a client that has no document, or that no user allowed anything. */
  of(clientId: string): Promise<readonly DocumentVersion[]>;
}

/** How the process that answers is configured and used. It names no secret. */
export interface Deployment {
  readonly issuer: string;
  readonly environment: "development" | "test" | "production";
  readonly signUp: SignUpPolicy["mode"];
  readonly trustProxy: boolean;
  /** Since the start of the process. */
  readonly callers: {
    readonly requests: number;
    /** Whether all requests came from the same address. */
    readonly oneAddress: boolean;
    /** Requests with headers of a proxy that TRUST_PROXY does not trust. */
    readonly proxyHeadersIgnored: number;
  };
  readonly mail: "smtp" | "files";
  /** Mails that could not be sent yet, and are tried again. */
  readonly postponedMails: number;
  readonly redis: boolean;
  /** When the first certificate of a setting expires, and whether that is within 14 days. */
  readonly certificates: readonly { readonly setting: string; readonly expiresAt: number; readonly soon: boolean }[];
  /** `settings`: those of PostgreSQL that decide on durability, by name. */
  readonly database: { readonly kind: "embedded" | "postgresql"; readonly settings: Readonly<Record<string, string>> };
  /** Names of settings that are not right for what the process is used for. */
  readonly unsafe: readonly string[];
}

export interface ShownSettings {
  readonly settings: readonly {
    readonly name: string;
    readonly group: string;
    readonly description: string;
    /** `file`: the environment names a file. `default`: it is unset. */
    readonly origin: "environment" | "file" | "default";
    /** Null for one that may hold a secret, and for one without a default. */
    readonly value: string | null;
    readonly isSecret: boolean;
    /** The effect of leaving it out, where it has no fixed default. */
    readonly unset: string | null;
  }[];
  /** How many requests of a kind one caller has within `seconds`; `settings` names those that set it. */
  readonly limits: readonly {
    readonly name: string;
    readonly requests: number;
    readonly seconds: number;
    readonly settings: readonly string[];
  }[];
}

/** Refused token requests that named a resource with a record, of the last 90 days. */
export interface ResourceRefusals {
  /** Newest first. */
  list(realmId: string, resource: string, part: Part): Promise<Page<AuditRecord>>;
  /** Of the last 24 hours, the most frequent reason first; at most TOTAL_LIMIT refusals are counted. */
  reasons(realmId: string, resource: string): Promise<readonly { readonly reason: string; readonly count: number }[]>;
}

/** Examines a resource as its clients see it, by guarded requests, within seconds. */
export type ResourceDoctor = (resource: string) => Promise<Report>;

/** `at`: seconds since the epoch, with their fraction. `link`: null until the record is sealed, within a second. */
export type AuditRecord = AuditEntry & { readonly id: string; readonly at: number; readonly link: Link | null };

export interface AuditChainState {
  /** The number after which the trail begins: 0, or the last record of the last archive. */
  readonly start: number;
  /** Null before the first record is sealed. */
  readonly head: Link | null;
  /** Records that wait to be sealed. */
  readonly waiting: number;
  /** The last signed record, and when it was signed, in seconds since the epoch. */
  readonly signed: { readonly seq: number; readonly at: number } | null;
}

export interface AuditChainPart {
  /** The link before the first record; undefined when the chain is shorter. */
  readonly start: Link | undefined;
  readonly records: readonly (Link & { readonly record: SealedRecord })[];
  readonly checkpoints: readonly SignedCheckpoint[];
}

/** A sealed record, and the user who owns the client that it names. */
export type LiveRecord = AuditRecord & { readonly link: Link; readonly ownerId: string | null };

export interface AuditTrail {
  /** Newest first, unless sorted otherwise. */
  list(filter: AuditFilter, part: Part<"created">): Promise<Page<AuditRecord>>;
  /** Sealed records in the order of the chain. @param after a number in it @returns also `reached`, the next call's `after` */
  follow(filter: AuditFilter, limit: number, after: number): Promise<{ readonly items: readonly AuditRecord[]; readonly reached: number }>;
  /** Sealed records in the order of the chain, in one statement. @param after a number in it; undefined: the newest records */
  live(after: number | undefined, limit: number): Promise<readonly LiveRecord[]>;
  chain(): Promise<AuditChainState>;
  /** @param after a number in the chain, 0 for its start */
  part(limit: number, after: number): Promise<AuditChainPart>;
}

/** What a listener gets at once: the records since the last time, in the order of the chain. */
export interface LiveBatch {
  readonly records: readonly LiveRecord[];
  /** Records that the listener was too slow for, or away too long: they are in the log only. */
  readonly missed: number;
  /** The listener goes on after this number. */
  readonly reached: number;
}

export interface LiveAudit {
  /**
   * Batches for one listener: the first at once, the others whenever the process has looked.
   * @param from number of the last record that the listener has; undefined: only later records
   * @param developerId the user who listens; undefined for an operator, whose listeners are not limited by user
   * @throws {Refusal} temporarily_unavailable when the process or the developer has too many listeners, or the process shuts down
   */
  listen(from: number | undefined, developerId?: string): AsyncGenerator<LiveBatch, void>;
}

export type RuleVerdict = "passed" | "refused" | "not_reached" | "taken_for_granted";

type CoreAnswer = Awaited<ReturnType<TokenCore["explain"]>>;
/** What a message of the core says. */
type Said<Message> = Readonly<Omit<NonNullable<Message>, "$typeName" | "$unknown">>;

/** How the core evaluates a token request, rule by rule, in the members of its answer. */
export interface Explanation extends Pick<CoreAnswer, "clientId"> {
  readonly rules: readonly (Omit<Said<CoreAnswer["rules"][number]>, "verdict"> & { readonly verdict: RuleVerdict })[];
  readonly granted?: Said<CoreAnswer["granted"]>;
  /** Absent where none is dropped. */
  readonly droppedScope?: readonly string[];
  readonly refused?: Said<CoreAnswer["refused"]>;
}

/** What is explained, as the core is asked for it: a token request or an authorization request as it would be now, the token of a platform, or a past refusal. */
export type Explained = NonNullable<Parameters<TokenCore["explain"]>[0]["subject"]>;

/**
 * Evaluates requests without writing anything; an authorization request as if the user allowed it.
 * @param address that limits on fetching metadata documents count  @throws {Refusal} not_found for a refusal without a record
 */
export type Explainer = (subject: Explained, signal?: AbortSignal, address?: string) => Promise<Explanation>;
