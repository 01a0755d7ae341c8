import { trustFaults, type WorkloadTrust, workloadDefaults } from "../clients/workload.ts";
import { Refusal } from "../errors.ts";
import type { WorkloadIssuerInput } from "./workload-inputs.ts";

type Settings = Omit<WorkloadTrust, "issuer" | "kind">;
type Change = { readonly [Member in keyof Settings]?: Settings[Member] | undefined };

function coherent(trust: WorkloadTrust): WorkloadTrust {
  const issues = trustFaults(trust);
  if (issues.length === 0) return trust;
  throw new Refusal("invalid_request", "workload_issuer_incoherent", { description: "The issuer would contradict itself.", issues });
}

/** A platform with an operator's change. Pure. @throws {Refusal} invalid_request */
export const changedTrust = (current: WorkloadTrust, change: Change): WorkloadTrust =>
  coherent({
    issuer: current.issuer,
    kind: current.kind,
    jwksUri: change.jwksUri === undefined ? current.jwksUri : change.jwksUri,
    bundleEndpoint: change.bundleEndpoint === undefined ? current.bundleEndpoint : change.bundleEndpoint,
    algorithms: change.algorithms ?? current.algorithms,
    maxLifetime: change.maxLifetime ?? current.maxLifetime,
    singleUse: change.singleUse ?? current.singleUse,
    allowPrivate: change.allowPrivate ?? current.allowPrivate,
  });

/** A platform as an operator describes it, with defaults for the rest. Pure. @throws {Refusal} invalid_request */
export const newTrust = ({ issuer, kind, ...settings }: WorkloadIssuerInput): WorkloadTrust =>
  changedTrust({ issuer, kind, ...workloadDefaults(kind) }, settings);
