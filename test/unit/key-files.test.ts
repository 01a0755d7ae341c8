import { execFileSync, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keysOf } from "../../src/compose/keys.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "countersign-test-keys-"));
  mkdirSync(join(dataDir, "keys"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function writeKey(kind: string, generate: () => ReturnType<typeof generateKeyPairSync>) {
  const path = join(dataDir, "keys", `${kind}.pem`);
  const pem = generate().privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  writeFileSync(path, pem);
  return { path, pem };
}

test.for([
  ["ed25519", { keys: { idTokenSigningAlg: "EdDSA" }, pqc: { hybrid: false } }],
  ["rsa", { keys: { idTokenSigningAlg: "RS256" }, pqc: { hybrid: false } }],
  ["ml-dsa-65", { keys: { idTokenSigningAlg: "EdDSA" }, pqc: { hybrid: true } }],
] as const)("a damaged %s key file is named in the error and left unchanged", async ([kind, config]) => {
  const path = join(dataDir, "keys", `${kind}.pem`);
  writeFileSync(path, "-----BEGIN PRIVATE KEY-----\nhalf a k");
  const opening = keysOf({ ...config, dataDir } as never, {} as never);
  await expect(opening).rejects.toThrow(`DATA_DIR: ${path} holds no readable ${kind} private key; restore it from a backup, or delete it`);
  expect(readFileSync(path, "utf8")).toContain("half a k");
});

test.for([
  ["ed25519", "EdDSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 })],
  ["rsa", "RS256", () => generateKeyPairSync("ed25519")],
] as const)(
  "a key of another kind in the %s key file is named in the error and left unchanged",
  async ([kind, idTokenSigningAlg, generate]) => {
    if (kind === "rsa") await writeKey("ed25519", () => generateKeyPairSync("ed25519"));
    const { path, pem } = await writeKey(kind, generate);
    const opening = keysOf({ keys: { idTokenSigningAlg }, pqc: { hybrid: false }, dataDir } as never, {} as never);
    await expect(opening).rejects.toThrow(`DATA_DIR: ${path} holds no readable ${kind} private key`);
    expect(readFileSync(path, "utf8")).toBe(pem);
  },
);

test("a directory in place of a key file is named in the error", async () => {
  const path = join(dataDir, "keys", "ed25519.pem");
  mkdirSync(path);
  const opening = keysOf({ keys: { idTokenSigningAlg: "EdDSA" }, pqc: { hybrid: false }, dataDir } as never, {} as never);
  await expect(opening).rejects.toThrow(`DATA_DIR: ${path} holds no readable ed25519 private key`);
});

test("a key file of another user is named in the error", async () => {
  const { path } = await writeKey("ed25519", () => generateKeyPairSync("ed25519"));
  chmodSync(path, 0);
  if (process.getuid?.() === 0) execFileSync("chown", ["-R", "65534", dataDir]); // root may read everything
  const settings = { keys: { idTokenSigningAlg: "EdDSA" }, pqc: { hybrid: false }, dataDir };
  const program = `const { keysOf } = await import(${JSON.stringify(new URL("../../src/compose/keys.ts", import.meta.url).href)});
    if (process.getuid() === 0) process.setuid(65_534);
    await keysOf(${JSON.stringify(settings)}, {}).catch(({ message }) => console.log(message));`;
  expect(
    spawnSync(process.execPath, ["--conditions=countersign", "--input-type=module", "--eval", program], { encoding: "utf8" }).stdout,
  ).toBe(`DATA_DIR: ${path} may not be read and written by this user; give it to this user (chown -R), or start as its owner.\n`);
});
