import { sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { claimsOf, headerOf } from "./flow.ts";
import type { TestServer } from "./server.ts";

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The same token as if issued an hour ago: signed by the server's key, and expired. */
export function expired(server: TestServer, token: string): string {
  const exp = Math.floor(Date.now() / 1000) - 3_600;
  const input = `${part(headerOf(token))}.${part({ ...claimsOf(token), iat: exp - 900, exp })}`;
  const key = readFileSync(join(server.dataDir, "keys/ed25519.pem"), "utf8");
  return `${input}.${sign(null, Buffer.from(input), key).toString("base64url")}`;
}
