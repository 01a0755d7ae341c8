import type { Issue } from "../errors.ts";
import { isLoopbackHost } from "../protocol/access.ts";
import { CLIENT_ASSERTION_ALGORITHMS } from "./client.ts";
import type { AssertionAlgorithm } from "./public-keys.ts";

/** Platforms whose tokens say which workload holds them. @see docs/workloads.md */
export const WORKLOAD_KINDS = ["oidc", "kubernetes", "spiffe"] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

/** What decides whether a token of a platform is believed, and where its keys are. */
export interface WorkloadTrust {
  /** The `iss` of its tokens; for SPIFFE the trust domain, as `spiffe://domain`. */
  readonly issuer: string;
  readonly kind: WorkloadKind;
  /** Where its keys are, if not where its discovery document says. */
  readonly jwksUri: string | null;
  /** Of a SPIFFE trust domain. */
  readonly bundleEndpoint: string | null;
  readonly algorithms: readonly AssertionAlgorithm[];
  /** Seconds. */
  readonly maxLifetime: number;
  /** Whether each token is accepted once, by its `jti`. */
  readonly singleUse: boolean;
  /** Whether its keys may be at a private address. */
  readonly allowPrivate: boolean;
}

/** A platform that an operator trusts. Times are seconds since the epoch. */
export interface WorkloadIssuer extends WorkloadTrust {
  readonly id: string;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

/** What a platform calls a workload. `claims` must be in its token with these values. */
export interface WorkloadIdentity {
  readonly issuer: string;
  /** Exact; for SPIFFE it may end in `/*`, for all paths below. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, string>>;
}

/** Identities that one client may have, and claims that one identity may name. */
export const MAX_IDENTITIES = 20;
export const MAX_IDENTITY_CLAIMS = 5;

/** The settings of a platform that an operator leaves out. Tokens of SPIFFE and Kubernetes are reused by design. */
export const workloadDefaults = (kind: WorkloadKind) =>
  ({
    jwksUri: null,
    bundleEndpoint: null,
    algorithms: CLIENT_ASSERTION_ALGORITHMS,
    maxLifetime: 3_600,
    singleUse: kind === "oidc",
    allowPrivate: false,
  }) as const satisfies Omit<WorkloadTrust, "issuer" | "kind">;

const TRUST_DOMAIN = /^spiffe:\/\/[a-z0-9._-]{1,255}$/;
const SPIFFE_SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]+$/;
const MAX_SPIFFE_ID = 2_048;

/** The trust domain of a SPIFFE ID that has a path, as `spiffe://domain`; undefined for anything else. @see SPIFFE-ID §2 */
export function trustDomainOf(id: string): string | undefined {
  if (id.length > MAX_SPIFFE_ID || !id.startsWith("spiffe://")) return undefined;
  const [domain = "", ...path] = id.slice("spiffe://".length).split("/");
  const name = `spiffe://${domain}`;
  return TRUST_DOMAIN.test(name) && path.length > 0 && path.every((segment) => SPIFFE_SEGMENT.test(segment)) ? name : undefined;
}

/**
 * The subjects of identities that a token's subject can match: itself and, for a SPIFFE ID, each path above it with `/*`. Pure.
 * @see docs/protocol.md#workloads
 */
export function matchingSubjects(subject: string): readonly string[] {
  const domain = trustDomainOf(subject);
  if (domain === undefined) return [subject];
  const path = subject.slice(domain.length + 1).split("/");
  return [subject, ...path.map((_, depth) => [domain, ...path.slice(0, depth), "*"].join("/"))];
}

/** Whether a token has every claim of an identity, as a text of the same value. Pure. */
export const hasClaims = (token: Readonly<Record<string, unknown>>, claims: WorkloadIdentity["claims"]): boolean =>
  Object.entries(claims).every(([name, value]) => Object.hasOwn(token, name) && token[name] === value);

/** A URL at which keys are published. */
function urlFault(text: string, allowPrivate: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || /[?#]/.test(text))
    return "is not a URL without credentials, query and fragment";
  if (url.protocol === "https:" || (allowPrivate && url.protocol === "http:" && isLoopbackHost(url.hostname))) return undefined;
  return "must be https, or http on loopback where private addresses are allowed";
}

/** Contradictions in the settings of a platform. Pure. */
export function trustFaults(trust: WorkloadTrust): readonly Issue[] {
  const { issuer, kind, jwksUri, bundleEndpoint, allowPrivate } = trust;
  const faults: (Issue | undefined)[] = [];
  const at = (path: string, message: string | undefined) => faults.push(message === undefined ? undefined : { path, message });
  if (kind === "spiffe") {
    at("issuer", TRUST_DOMAIN.test(issuer) ? undefined : "must be a trust domain, such as spiffe://example.org");
    at("bundleEndpoint", bundleEndpoint === null ? "is needed for spiffe" : urlFault(bundleEndpoint, allowPrivate));
    at("jwksUri", jwksUri === null ? undefined : "goes with no spiffe issuer: give bundleEndpoint");
  } else {
    at("issuer", urlFault(issuer, allowPrivate));
    at("jwksUri", jwksUri === null ? undefined : urlFault(jwksUri, allowPrivate));
    at("bundleEndpoint", bundleEndpoint === null ? undefined : "goes with spiffe only");
  }
  return faults.filter((fault) => fault !== undefined);
}

/** A SPIFFE ID that stands for one workload, or with `/*` for all below a path, as an example of one. */
const exampleOf = (subject: string): string => (subject.endsWith("/*") ? `${subject.slice(0, -1)}x` : subject);

/** The trust domain of an identity's subject; undefined for anything but a SPIFFE ID with a path, which may end in `/*`. */
export const trustDomainOfPattern = (subject: string): string | undefined => trustDomainOf(exampleOf(subject));

/** Why no token of a platform could ever match an identity. Pure. */
export function identityFault({ subject }: Pick<WorkloadIdentity, "subject">, { kind, issuer }: Pick<WorkloadTrust, "kind" | "issuer">) {
  if (kind === "spiffe")
    return trustDomainOfPattern(subject) === issuer ? undefined : "is not a SPIFFE ID of this trust domain with a path";
  return subject.endsWith("/*") ? "ends in /*, which only SPIFFE IDs may" : undefined;
}

/** Claims that name one branch, tag, environment or reviewed workflow of a repository. */
const PINNING = ["environment", "ref", "job_workflow_ref", "workflow_ref"];

/** Whether any branch or pull request of a repository (GitHub Actions) could present an identity. Pure. */
export const isOpenIdentity = ({ subject, claims }: Pick<WorkloadIdentity, "subject" | "claims">): boolean =>
  /^repo:[^:/]+\/[^:/]+/.test(subject) &&
  !/:(?:environment|ref):[^:]/.test(subject) &&
  !PINNING.some((name) => Object.hasOwn(claims, name));
