import { createPrivateKey, createPublicKey } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkloadTokenSource } from "@countersign/agent";
import { keyFor, type TestKey } from "../../test/support/assertions.ts";
import { kubernetes } from "../../test/support/workloads.ts";

/**
 * Stands in for a Kubernetes cluster, so that the example needs none: an issuer that publishes its keys, and makes tokens for one service account. A
 * cluster has one key for a long time, and so has this: the authorization server asks for unknown keys at most once a minute.
 * @param url where the operator's file expects it: an http URL on this machine
 */
export async function startPlatform(url: string): Promise<{ readonly credential: WorkloadTokenSource; close(): Promise<void> }> {
  const cluster = await kubernetes({ port: Number(new URL(url).port), key: keptKey() });
  return { credential: ({ issuer }) => cluster.token([issuer]), close: cluster.close };
}

/** Beside the program: among temporary files another user of the machine could put a key of theirs first. */
const KEY_FILE = join(import.meta.dirname, "cluster-key.pem");

function keptKey(): TestKey {
  const made = keyFor("RS256");
  try {
    writeFileSync(KEY_FILE, made.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const privateKey = createPrivateKey(readFileSync(KEY_FILE));
  return {
    alg: "RS256",
    privateKey,
    jwk: { ...createPublicKey(privateKey).export({ format: "jwk" }), kid: "cluster-1", use: "sig", alg: "RS256" },
  };
}
