import { createPublicKey } from "node:crypto";
import { writeFileSync } from "node:fs";
import { generatePrivateKey } from "../development-keys.ts";

export interface GenerateOptions {
  readonly rsa?: true;
  readonly mlDsa?: true;
  /** A file for the keys, instead of standard output. */
  readonly out?: string;
}

const FILE_FAULTS: ReadonlyMap<unknown, string> = new Map([
  ["EEXIST", "exists, and a key is never overwritten. Name another file."],
  ["ENOENT", "is in a folder that does not exist. Make it, or name another file."],
  ["ENOTDIR", "is in a folder that does not exist. Make it, or name another file."],
  ["EACCES", "may not be written by this user. Name another file."],
  ["EROFS", "may not be written by this user. Name another file."],
]);

/** `countersign keys generate`: a new private key with its public half, as PEM. @throws {Error} for a file that exists or cannot be made */
export async function generateKey({ rsa, mlDsa, out }: GenerateOptions): Promise<void> {
  const pem = mlDsa ? await mldsaPair() : pairOf(rsa ? "rsa" : "ed25519");
  if (out === undefined) return void process.stdout.write(pem);
  try {
    writeFileSync(out, pem, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const fault = FILE_FAULTS.get((error as NodeJS.ErrnoException).code);
    throw fault === undefined ? error : new Error(`${out} ${fault}`, { cause: error });
  }
  const setting = mlDsa ? "JWT_MLDSA_PRIVATE_KEY" : rsa ? "JWT_RSA_PRIVATE_KEY" : "JWT_PRIVATE_KEY";
  const uses = [
    `The key is in ${out}, readable by this user alone.`,
    `For the server: ${setting}=@${out}`,
    ...(mlDsa ? [] : [`For a client (private_key_jwt): countersign clients update ID --jwks @${out}, which sends the public half alone`]),
  ];
  process.stderr.write(`${uses.join("\n")}\n`);
}

function pairOf(kind: "rsa" | "ed25519"): string {
  const pem = generatePrivateKey(kind);
  return pem + createPublicKey(pem).export({ type: "spki", format: "pem" }).toString();
}

async function mldsaPair(): Promise<string> {
  const { mldsaPublicHalf } = await import("../core/signing/ml-dsa.ts");
  const pem = generatePrivateKey("ml-dsa-65");
  return pem + (await mldsaPublicHalf(pem));
}
