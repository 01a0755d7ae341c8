import type { CheckpointSigner } from "../audit-chain/checkpoint.ts";
import type { Config, Role } from "../config.ts";
import { signingKey } from "../core/signing/keys.ts";
import { developmentKey } from "../development-keys.ts";
import { auditSealer, SEAL_BATCH } from "../store/audit-sealer.ts";
import type { Database } from "../store/orm.ts";
import { periodically } from "./periodically.ts";

/** Seconds between two turns: a record waits for one, so that it is sealed well within a second. */
const EVERY = 0.25;
/** Turns that are left out after one that failed: while the database is away, it is asked every few seconds. */
const REST = 20;

/** Who signs checkpoints here: the key of access tokens. A front has no private keys; it seals, and the cores sign. */
function signerOf({ issuer, keys, dataDir }: Config, role: Role): CheckpointSigner | undefined {
  if (role === "front") return undefined;
  const { jwk, privateKey } = signingKey(keys.privateKeyPem ?? developmentKey(dataDir, "ed25519"));
  return { issuer, kid: jwk.kid, privateKey };
}

/** Seals the audit trail beside everything else, and once more at the end. @returns what ends it */
export function sealing(config: Config, role: Role, { sql, kind }: Database, failed: (error: unknown) => void): () => Promise<void> {
  const sealer = auditSealer(sql, signerOf(config, role), SEAL_BATCH[kind]);
  let rest = 0;
  const turn = async (): Promise<void> => {
    if (rest > 0) {
      rest -= 1;
      return;
    }
    rest = REST; // until it has gone well
    await sealer.seal();
    rest = 0;
  };
  const turns = periodically(EVERY, turn, failed);
  return async () => {
    await turns.stop();
    await sealer.seal();
  };
}
