import type { SignUpPolicy } from "../accounts/sign-up-policy.ts";

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

/** The settings of the process that answers. */
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
