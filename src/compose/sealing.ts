import type { CheckpointSigner } from "../audit-chain/checkpoint.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { auditSealer, SEAL_BATCH } from "../store/audit-sealer.ts";
import type { Database } from "../store/orm.ts";
import { periodically } from "./periodically.ts";

/** Seconds between two turns: a record waits for one, so that it is sealed well within a second. */
const EVERY = 0.25;
/** Turns that are left out after one that failed: while the database is away, it is asked every few seconds. */
const REST = 20;

/**
 * Who signs checkpoints here: the key that signs access tokens at this moment. A front has no private keys; it seals, and the cores sign.
 */
function signerOf(issuer: string, keys: Keys | undefined): CheckpointSigner | undefined {
  const key = keys?.current()?.accessToken;
  return key && { issuer, kid: key.jwk.kid, privateKey: key.privateKey };
}

/** Seals the audit trail beside everything else, and once more at the end. @returns what ends it */
export function sealing(
  issuer: string,
  keys: Keys | undefined,
  { sql, kind }: Database,
  failed: (error: unknown) => void,
): () => Promise<void> {
  const seal = () => auditSealer(sql, signerOf(issuer, keys), SEAL_BATCH[kind]).seal();
  let rest = 0;
  const turn = async (): Promise<void> => {
    if (rest > 0) {
      rest -= 1;
      return;
    }
    rest = REST; // until it has gone well
    await seal();
    rest = 0;
  };
  const turns = periodically(EVERY, turn, failed);
  return async () => {
    await turns.stop();
    await seal();
  };
}
