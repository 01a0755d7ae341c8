import type { CheckpointSigner } from "../audit-chain/checkpoint.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { auditSealer, SEAL_BATCH } from "../store/audit-sealer.ts";
import type { Database } from "../store/orm.ts";
import { type Failed, periodically } from "./periodically.ts";

/** Seconds between two turns, so that a record is sealed well within a second. */
const EVERY = 0.25;
/** Turns to skip after a failed one: while the database is away, it is queried every few seconds. */
const REST = 20;

/** The key that signs access tokens now. A front has no private keys: it seals, and the cores sign. */
function signerOf(issuer: string, keys: Keys | undefined): CheckpointSigner | undefined {
  const key = keys?.current()?.accessToken;
  return key && { issuer, kid: key.jwk.kid, privateKey: key.privateKey };
}

/** Seals the audit log in the background, and once more at the end. @returns a function that stops it */
export function sealing(issuer: string, keys: Keys | undefined, { sql, kind }: Database, failed: Failed): () => Promise<void> {
  const seal = () => auditSealer(sql, signerOf(issuer, keys), SEAL_BATCH[kind]).seal();
  let rest = 0;
  const turn = async (): Promise<void> => {
    if (rest > 0) {
      rest -= 1;
      return;
    }
    rest = REST; // until a turn succeeds
    await seal();
    rest = 0;
  };
  const stop = periodically(EVERY, turn, failed, "audit_seal");
  return async () => {
    await stop();
    await seal();
  };
}
