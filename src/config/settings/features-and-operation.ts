import { accessSync, constants } from "node:fs";
import { z } from "zod";
import { p256Private, tlsCertificate } from "../key-material.ts";
import {
  DAY,
  flag,
  isHeaderText,
  issuers,
  listOf,
  oneOf,
  SPACES_OR_COMMAS,
  says,
  seconds,
  settingsOf,
  text,
  urlWithoutCredentials,
  whole,
} from "./forms.ts";

const features = settingsOf("Identity assertions, post-quantum signatures");

export const FEATURE_SETTINGS = {
  ID_JAG_ENABLED: features(flag().default(false), "Whether identity assertions of other issuers are accepted (jwt-bearer grant)."),
  ID_JAG_TRUSTED_ISSUERS: features(
    issuers().default([]),
    "Issuers (`iss`) whose identity assertions are accepted; an empty list rejects every assertion.",
    { needs: "ID_JAG_ENABLED" },
  ),
  ID_JAG_MAX_ASSERTION_LIFETIME: features(
    seconds(1, DAY).default(300),
    "Longest lifetime of an identity assertion in seconds; its `jti` is remembered for as long.",
    { needs: "ID_JAG_ENABLED" },
  ),
  HYBRID_SIGNING_ENABLED: features(flag().default(false), "Whether access tokens are signed with ML-DSA-65 in addition to Ed25519."),
  PQC_TOKEN_DELIVERY: features(
    oneOf(["reference", "self-contained"]).default("reference"),
    "How the ML-DSA-65 signature reaches a verifier: by introspection, or in the token answer too.",
    { needs: "HYBRID_SIGNING_ENABLED" },
  ),
  PQC_SELF_CONTAINED_ACK: features(
    flag().default(false),
    "Acknowledges the size of `self-contained` delivery, which is refused without it.",
    { needs: "HYBRID_SIGNING_ENABLED" },
  ),
};

const wallets = settingsOf("Wallets", { needs: "WALLET_FEDERATION_ENABLED" });

/** Claims that describe the credential rather than its holder. */
const NOT_SUBJECT: ReadonlySet<string> = new Set(["iss", "iat", "nbf", "exp", "cnf", "vct", "status", "_sd", "_sd_alg"]);

export const WALLET_SETTINGS = {
  WALLET_FEDERATION_ENABLED: settingsOf("Wallets")(
    flag().default(false),
    "Whether users may link the credential of a wallet to their account (OpenID4VP 1.0).",
  ),
  WALLET_TRUSTED_ISSUERS: wallets(
    issuers().default([]),
    "Issuers (`iss`) whose credentials are accepted; an empty list rejects every credential.",
  ),
  WALLET_CREDENTIAL_TYPES: wallets(
    listOf(
      SPACES_OR_COMMAS,
      (type) => URL.canParse(type),
      "contains something that is not a credential type",
      "give the `vct` of each type, a URI, separated by spaces or commas",
    ).default(["urn:eudi:pid:1"]),
    "Credential types (`vct`) that a wallet is asked for; any one of them is enough.",
  ),
  WALLET_SUBJECT_CLAIM: wallets(
    text(
      (value) => /^[A-Za-z0-9_-]{1,64}$/.test(value) && !NOT_SUBJECT.has(value),
      "is not a claim that can identify a user",
      "give the name of one claim that the issuers keep stable and unique, and never reassign",
    ).default("sub"),
    "Claim of the credential that identifies the user within its issuer: stable, unique, never reassigned.",
  ),
  WALLET_ISSUER_ROOTS: wallets(
    tlsCertificate().optional(),
    "Root certificates (PEM) that a credential's own certificate chain (`x5c`) must lead to.",
    {
      unset: "keys come from the issuer's `/.well-known/jwt-vc-issuer` alone",
      file: true,
    },
  ),
  WALLET_CREDENTIAL_STATUS: wallets(
    oneOf(["strict", "lenient"]).default("strict"),
    "A credential whose status list cannot be fetched: rejected (`strict`) or accepted (`lenient`). A revoked or suspended credential is always rejected.",
  ),
  WALLET_VERIFIER_CERT: wallets(
    tlsCertificate().optional(),
    "Certificate chain (PEM, leaf first, P-256 key) that identifies this server to wallets; requests are then signed.",
    { unset: "unsigned requests, which name only the address for the response", file: true },
  ),
  WALLET_VERIFIER_KEY: wallets(p256Private().optional(), "Private key (PEM, P-256) of WALLET_VERIFIER_CERT.", {
    file: true,
  }),
  WALLET_CLIENT_ID_PREFIX: wallets(
    oneOf(["x509_san_dns", "x509_hash"]).default("x509_san_dns"),
    "How signed requests name this server: by the host in WALLET_VERIFIER_CERT, or by the hash of that certificate.",
  ),
};

const operation = settingsOf("Operation");

const isReadable = (path: string) => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

/** Whether a secret in the notation of Standard Webhooks has a key. Any other text is its own key. */
const isWebhookSecret = (value: string) => {
  const [, key] = /^whsec_(.*)$/s.exec(value) ?? [];
  return key === undefined || (/^[A-Za-z0-9+/]+={0,2}$/.test(key) && Buffer.from(key, "base64").length >= 16);
};

/** A list as OpenTelemetry specifies it: `NAME=value` separated by commas, values percent-encoded. undefined for anything else. */
function pairsOf(list: string): Readonly<Record<string, string>> | undefined {
  try {
    const pairs = list.split(",").map((pair) => {
      const [, name = "", value = ""] = /^([\w.-]+)=(.*)$/s.exec(pair.trim()) ?? [];
      return [name, decodeURIComponent(value)] as const;
    });
    return pairs.every(([name]) => name !== "") ? Object.fromEntries(pairs) : undefined;
  } catch {
    return undefined; // a per cent sign that encodes nothing
  }
}

function areHeaders(list: string): boolean {
  const pairs = pairsOf(list);
  return pairs !== undefined && Object.entries(pairs).every(([name, value]) => /^[\w-]+$/.test(name) && isHeaderText(value));
}

export const OPERATION_SETTINGS = {
  NODE_ENV: operation(
    oneOf(["production", "development", "test"]).default("development"),
    "`production` refuses what only suits development: generated keys, a plain-http issuer.",
  ),
  WORKERS: operation(
    whole(1, 256, "a number of processes").default(1),
    "Processes that serve on the same ports, on PostgreSQL and Redis: one for each CPU. A supervisor replaces what ends, and on SIGHUP all of them, one by one.",
  ),
  PROVISION_FILE: operation(
    text(isReadable, "names a file that cannot be read", "give the path of a readable JSON file").optional(),
    "JSON file of realms, users, clients, resources and more (docs/provisioning.md), applied idempotently at every start.",
  ),
  LOG_LEVEL: operation(
    oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
    "How much is logged, as JSON lines on stdout; as plain lines where stdout is a terminal and NODE_ENV is `development`.",
  ),
  AUDIT_STREAM: operation(
    urlWithoutCredentials(
      ["https", "http", "syslog", "syslogs", "otlp+https", "otlp+http"],
      "give a secret in AUDIT_STREAM_SECRET",
    ).optional(),
    "Where the audit trail is sent: a signed webhook (`https://`), syslog over TCP or TLS (`syslog://`, `syslogs://`), or OTLP logs (`otlp+https://…/v1/logs`). See docs/audit.md.",
    { unset: "it is not sent", file: true },
  ),
  AUDIT_STREAM_SECRET: operation(
    text((value) => value.length >= 16, "is too short", "give at least 16 random characters")
      .refine(
        isWebhookSecret,
        says("is whsec_ without a key of at least 16 bytes in base64", "give the whole secret, or one without whsec_"),
      )
      .optional(),
    "Signs the webhooks of AUDIT_STREAM: `whsec_` and the key in base64, or any text, whose bytes are the key. With OTLP it is sent as bearer token.",
    { file: true, needs: "AUDIT_STREAM" },
  ),
  AUDIT_KEEP_DAYS: operation(
    whole(1, 36_500, "days").optional(),
    "Days for which audit records stay in the database. Older ones are first exported to AUDIT_ARCHIVE, and sent to AUDIT_STREAM if that is set. See docs/audit.md.",
    { unset: "they are kept" },
  ),
  AUDIT_ARCHIVE: operation(
    z.string().optional(),
    "Folder for the exports of audit records that AUDIT_KEEP_DAYS removes. Created when missing, mode 0700.",
    { needs: "AUDIT_KEEP_DAYS" },
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: operation(
    urlWithoutCredentials(["https", "http"], "give credentials in OTEL_EXPORTER_OTLP_HEADERS").optional(),
    "OpenTelemetry collector (OTLP over HTTP) that gets traces of requests, calls of the core and statements, under `/v1/traces`, and the metrics under `/v1/metrics`.",
    { unset: "nothing is traced, and metrics are at `/metrics` only" },
  ),
  OTEL_TRACES_EXPORTER: operation(oneOf(["otlp", "none"]).default("otlp"), "Whether the collector gets traces."),
  OTEL_METRICS_EXPORTER: operation(oneOf(["otlp", "none"]).default("otlp"), "Whether the collector gets metrics."),
  OTEL_METRIC_EXPORT_INTERVAL: operation(
    whole(1_000, 3_600_000, "milliseconds").default(60_000),
    "Milliseconds between two exports of the metrics to the collector.",
  ),
  OTEL_EXPORTER_OTLP_HEADERS: operation(
    text(areHeaders, "is not a list of headers", "give NAME=value, percent-encoded, separated by commas")
      .transform((value) => pairsOf(value) ?? {})
      .optional(),
    "Headers of the requests to the collector, as `NAME=value`, percent-encoded and separated by commas, such as `authorization=Bearer%20…`.",
    { file: true, needs: "OTEL_EXPORTER_OTLP_ENDPOINT" },
  ),
  OTEL_SERVICE_NAME: operation(
    z.string().optional(),
    "The name of the service at the collector. The alerts of `deploy/prometheus-rules.yml` are about the default.",
    { unset: "that of OTEL_RESOURCE_ATTRIBUTES, else `countersign`" },
  ),
  OTEL_RESOURCE_ATTRIBUTES: operation(
    text((value) => pairsOf(value) !== undefined, "is not a list of attributes", "give NAME=value, percent-encoded, separated by commas")
      .transform((value) => pairsOf(value) ?? {})
      .optional(),
    "Attributes of this process at the collector, such as `deployment.environment.name=production`. They win over `service.name` and `service.namespace`, which is the issuer, but not over `service.instance.id`, which each process has for itself.",
  ),
  OTEL_TRACES_SAMPLER_ARG: operation(
    text((value) => /^(?:0|0?\.\d{1,9}|1(?:\.0)?)$/.test(value), "is not a number from 0 to 1", "give a share such as 0.1")
      .transform(Number)
      .default(1),
    "The share of requests that are traced, from 0 to 1.",
  ),
  COUNTERSIGN_URL: operation(
    urlWithoutCredentials(["http", "https"], "set COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD")
      .refine((value) => !/[?#]/.test(value), says("has a query or fragment", "give the issuer of the server"))
      .optional(),
    "The running server that the command line talks to.",
    { unset: "JWT_ISSUER" },
  ),
  COUNTERSIGN_EMAIL: operation(z.string().optional(), "The user as whom the command line acts, and with whose password it signs in.", {
    unset: "who signed in last",
  }),
  COUNTERSIGN_PASSWORD: operation(z.string().optional(), "The password with which the command line signs in for one command.", {
    unset: "the session of `countersign login`",
    file: true,
  }),
};
