import { z } from "zod";
import { CLIENT_ASSERTION_ALGORITHMS } from "../clients/client.ts";
import { MAX_IDENTITIES, MAX_IDENTITY_CLAIMS, WORKLOAD_KINDS } from "../clients/workload.ts";

/** Visible characters, which a URL or a name on a platform consists of. */
const words = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^\P{Cc}+$/u, "has a control character")
    .refine((text) => text.isWellFormed(), "contains a character that cannot be stored");

const url = words(2_000).nullable();

/** What operators may change of a platform. Members that are left out stay unchanged, or have their default. */
export const workloadSettings = {
  jwksUri: url.optional(),
  bundleEndpoint: url.optional(),
  algorithms: z
    .array(z.enum(CLIENT_ASSERTION_ALGORITHMS))
    .min(1)
    .transform((names) => [...new Set(names)])
    .optional(),
  maxLifetime: z.int().min(60).max(86_400).optional(),
  singleUse: z.boolean().optional(),
  allowPrivate: z.boolean().optional(),
};

export const Issuer = words(2_000);

/** A platform that is trusted. @see docs/workloads.md */
export const WorkloadIssuerInput = z.strictObject({ issuer: Issuer, kind: z.enum(WORKLOAD_KINDS), ...workloadSettings });
export type WorkloadIssuerInput = z.output<typeof WorkloadIssuerInput>;

const claims = z
  .record(words(64), words(512))
  .refine((named) => Object.keys(named).length <= MAX_IDENTITY_CLAIMS, `names more than ${MAX_IDENTITY_CLAIMS} claims`);

/** What a platform calls a workload. */
export const WorkloadIdentityInput = z.strictObject({ issuer: Issuer, subject: words(2_048), claims: claims.default({}) });

export const workloadIdentities = z.array(WorkloadIdentityInput).max(MAX_IDENTITIES);
