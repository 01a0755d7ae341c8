import type { Consent } from "../accounts/ports.ts";
import type { Page, Part } from "../paging.ts";

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
