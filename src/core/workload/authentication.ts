import { LRUCache } from "lru-cache";
import type { AuditEntry } from "../../audit.ts";
import type { Client } from "../../clients/client.ts";
import { namesDocument } from "../../clients/find-client.ts";
import { assertSignedByRemoteKeys } from "../../clients/published-keys.ts";
import type { KeyOrigin } from "../../clients/remote-keys.ts";
import { matchingSubjects, workloadDefaults } from "../../clients/workload.ts";
import { type Clock, secondsSince } from "../../clock.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { because, ENFORCED, type RuleTrace } from "../policy/rule.ts";
import type { CorePorts } from "../ports.ts";
import {
  type KnownIssuer,
  WORKLOAD_ALGORITHM,
  WORKLOAD_AUDIENCE,
  WORKLOAD_ID,
  WORKLOAD_IDENTITY,
  WORKLOAD_ISSUER,
  WORKLOAD_SIGNED,
  WORKLOAD_TIME,
  type WorkloadName,
  type WorkloadToken,
  type WorkloadUse,
} from "./rules.ts";

export type WorkloadAuthenticationPorts = Pick<CorePorts, "workloads" | "issuer" | "clock" | "clocks"> & {
  readonly consumedIds: Pick<CorePorts["consumedIds"], "consume">;
};

/** A token whose platform an operator trusts. */
export interface KnownWorkload {
  readonly token: WorkloadToken;
  readonly issuer: Omit<KnownIssuer, "identities" | "id" | "createdAt" | "updatedAt"> & Pick<KeyOrigin, "ofDocument">;
}

/** What a token claims to be: verified by nothing yet. */
export interface FoundWorkload {
  readonly known?: KnownWorkload;
  readonly clientId?: string;
  /** Why it stands for no client. */
  readonly refusal?: Refusal;
}

/**
 * The platform of a metadata document's client: the trust domain for which the document publishes keys. It vouches for nothing but the
 * document's own client. @throws {Refusal} invalid_client
 */
export function documentWorkload(token: WorkloadToken, { spiffe }: Pick<Client, "spiffe">): KnownWorkload {
  const [domain] = token.issuers;
  if (spiffe === undefined || domain === undefined || !matchingSubjects(token.subject).includes(spiffe.id))
    throw new Refusal("invalid_client", "workload_unknown");
  const { bundleEndpoint } = spiffe;
  return { token, issuer: { ...workloadDefaults("spiffe"), issuer: domain, kind: "spiffe", bundleEndpoint, ofDocument: true } };
}

const MAX_RECORDED = 255;

/** A workload in audit records. Its names are those of the token, which may not have been verified. */
export const workloadName = ({ token, known }: FoundWorkload & { readonly token: WorkloadToken }): WorkloadName => ({
  workloadIssuer: (known?.issuer.issuer ?? token.issuers[0] ?? "").slice(0, MAX_RECORDED),
  workloadSubject: token.subject.slice(0, MAX_RECORDED),
});

/** The record of a refused workload; one that stands for no client is not named in it. */
export const refusedWorkload = (
  refusal: Refusal,
  { known, clientId }: Omit<FoundWorkload, "refusal">,
  about: Pick<AuditEntry, "address" | "requestId" | "grantType">,
): AuditEntry => ({
  event: "workload.refused",
  outcome: "failure",
  ...because(refusal),
  actor: clientId === undefined ? { type: "service", id: "client-authentication" } : { type: "client", id: clientId },
  ...(known && { workloadIssuer: known.issuer.issuer }),
  ...(known && clientId !== undefined && { clientId, ...workloadName({ token: known.token, known }) }),
  ...about,
});

/** Finds the platform of a token, and the client that the token stands for. Verifies nothing. */
export async function findWorkload(
  token: WorkloadToken,
  named: string | undefined,
  { workloads, issuer: localIssuer }: Pick<WorkloadAuthenticationPorts, "workloads" | "issuer">,
): Promise<FoundWorkload> {
  const facts = { token, named, localIssuer, known: await workloads.find(token.issuers, token.subject) };
  let known: KnownWorkload | undefined;
  try {
    const issuer = WORKLOAD_ISSUER.check(facts);
    known = { token, issuer };
    return { known, clientId: WORKLOAD_IDENTITY.check({ ...facts, issuer }) };
  } catch (refusal) {
    if (!isRefusal(refusal)) throw refusal;
    if (named !== undefined && namesDocument(named)) return {}; // judged once the document is known
    return { ...(known && { known }), refusal };
  }
}

/**
 * Checks everything about a token except which client it stands for and that it is used for the first time.
 * @param checksSignature whether its keys are fetched
 * @returns what the token uses up, if it may be used once
 * @throws {Refusal} invalid_client
 */
export async function checkWorkload(
  { token, issuer }: KnownWorkload,
  ports: Pick<WorkloadAuthenticationPorts, "workloads" | "issuer" | "clock" | "clocks">,
  { trace = ENFORCED, checksSignature = true }: { readonly trace?: RuleTrace; readonly checksSignature?: boolean } = {},
): Promise<WorkloadUse | undefined> {
  const audiences = [ports.issuer, `${ports.issuer}/oauth/token`];
  const terms = { token, issuer, audiences, now: ports.clocks?.now() ?? ports.clock() };
  trace.check(WORKLOAD_ALGORITHM, terms);
  trace.check(WORKLOAD_AUDIENCE, terms);
  const { exp } = trace.check(WORKLOAD_TIME, terms);
  const use = trace.check(WORKLOAD_ID, { ...terms, exp });
  if (checksSignature)
    await trace.settle(WORKLOAD_SIGNED, assertSignedByRemoteKeys(token, ports.workloads.keys(issuer), "invalid_client", "issuer"));
  else trace.assume(WORKLOAD_SIGNED);
  return use;
}

/** Uses up a token that may be used once. @throws {Refusal} invalid_client for one that was used before */
export async function consumeWorkload(
  { issuer }: KnownWorkload,
  use: WorkloadUse | undefined,
  { consumedIds }: Pick<WorkloadAuthenticationPorts, "consumedIds">,
): Promise<void> {
  if (use === undefined) return;
  if (!(await consumedIds.consume("workload_token", issuer.issuer, use.jti, use.remember)))
    throw new Refusal("invalid_client", "workload_used_before");
}

/** Refusals without the names of the rules: in client authentication they are parts of one rule. */
const UNNAMED = ENFORCED.masked(({ code, reason, detail: { rule: _, ...detail } }) => new Refusal(code, reason, detail));

/**
 * Authenticates the client that a token stands for. The token is used up last, so that only its holder can use it up.
 * @throws {Refusal} invalid_client; temporarily_unavailable when the store cannot record its use
 * @see docs/protocol.md#workloads
 */
export async function authenticateWorkload(workload: KnownWorkload, ports: WorkloadAuthenticationPorts): Promise<void> {
  await consumeWorkload(workload, await checkWorkload(workload, ports, { trace: UNNAMED }), ports);
}

const REMEMBERED_REFUSALS = 1_000;
/** Seconds. */
const PAUSE = 60;

/**
 * Records refused workloads: of those of one client or platform with one reason, the first in a minute; the next record counts the others.
 * Strangers can send any token, so what they can add to the audit log must not depend on what they send.
 */
export function workloadRefusals(record: (entry: AuditEntry) => Promise<void>, clock: Clock): (entry: AuditEntry) => Promise<void> {
  const seen = new LRUCache<string, { readonly at: number; repeats: number }>({ max: REMEMBERED_REFUSALS });
  return async (entry) => {
    const key = `${entry.reason} ${entry.clientId ?? entry.workloadIssuer ?? ""}`;
    const earlier = seen.get(key);
    if (earlier !== undefined && secondsSince(clock, earlier.at) < PAUSE) {
      earlier.repeats += 1;
      return;
    }
    seen.set(key, { at: clock(), repeats: 0 });
    await record({ ...entry, ...(earlier !== undefined && earlier.repeats > 0 && { repeats: earlier.repeats }) });
  };
}
