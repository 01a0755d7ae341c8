import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keysOf } from "../../src/compose/core.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "countersign-test-keys-"));
  mkdirSync(join(dataDir, "keys"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

test.for([
  ["ed25519", { keys: { idTokenSigningAlg: "EdDSA" }, pqc: { hybrid: false } }],
  ["rsa", { keys: { idTokenSigningAlg: "RS256" }, pqc: { hybrid: false } }],
  ["ml-dsa-65", { keys: { idTokenSigningAlg: "EdDSA" }, pqc: { hybrid: true } }],
] as const)("a damaged %s key file is named and left as it is", async ([kind, config]) => {
  const path = join(dataDir, "keys", `${kind}.pem`);
  writeFileSync(path, "-----BEGIN PRIVATE KEY-----\nhalf a k");
  const opening = keysOf({ ...config, dataDir } as never, {} as never);
  await expect(opening).rejects.toThrow(`DATA_DIR: ${path} holds no readable private key; restore it from a backup, or delete it`);
  expect(readFileSync(path, "utf8")).toContain("half a k");
});
