import type { Consent } from "../accounts/ports.ts";
import type { SignUpPolicy } from "../accounts/sign-up-policy.ts";
import type { Page, Part } from "../paging.ts";
import type { Report } from "../resources/ports.ts";
import type { AuditRecord } from "./audit-ports.ts";

/** A consent, and the address of the user who gave it. */
export type ClientConsent = Consent & { readonly email: string };

export interface ConsentFilter {
  /** A part of the user's e-mail address, without regard to case; or the id of a consent. */
  readonly search?: string | undefined;
}

/** Of up to TOTAL_LIMIT consents, and one more if there are more. */
export interface ConsentCounts {
  readonly total: number;
  /** Those by which the client got a token within the last 30 days. */
  readonly usedLately: number;
}

/** What users allowed one client: a registered one, or one that publishes a document. */
export interface ClientConsents {
  /** Newest first. */
  list(clientId: string, filter: ConsentFilter, part: Part<"created">): Promise<Page<ClientConsent>>;
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

/** How often requests that named a resource were refused for a reason, within the last 24 hours. */
export interface RefusalCount {
  readonly reason: string;
  readonly count: number;
}

/** Refused token requests that named a resource with a record, of the last 90 days. */
export interface ResourceRefusals {
  /** Newest first. */
  list(realmId: string, resource: string, part: Part): Promise<Page<AuditRecord>>;
  /** Of the last 24 hours, the most frequent reason first; at most TOTAL_LIMIT refusals are counted. */
  reasons(realmId: string, resource: string): Promise<readonly RefusalCount[]>;
}

/** Examines a resource as its clients see it, by guarded requests, within seconds. */
export type ResourceDoctor = (resource: string) => Promise<Report>;
