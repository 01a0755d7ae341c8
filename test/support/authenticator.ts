import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** The flags of an answer by a key that is synchronised, after the user was verified (WebAuthn L3 §6.1). */
export const SYNCHRONISED = "1d";
const VERIFIED = "05";
/** A new key is in the answer. */
const NEW_KEY = "45";

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
const part = (hex: string) => Buffer.from(hex, "hex");
const encoded = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");

/** What an answer says otherwise than a browser would. `flags` in hexadecimal. */
interface Said {
  readonly flags?: string | undefined;
  readonly clientData?: object;
  readonly response?: object;
}

/** An authenticator with one key, which counts nothing: its COSE_Key, and its answers to challenges. @see WebAuthn L3 §6.1, §6.3, §6.5.1 */
export function anAuthenticator(
  { id, origin }: { readonly id: string; readonly origin: string },
  userId: string,
  credentialId: Uint8Array = randomBytes(32),
) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const cose = Buffer.concat([part("a5010203262001215820"), Buffer.from(x, "base64url"), part("225820"), Buffer.from(y, "base64url")]);
  const name = encoded(credentialId);
  const data = (flags: string) => Buffer.concat([sha256(id), part(`${flags}00000000`)]);
  const clientDataOf = (type: string, challenge: string, clientData: object = {}) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...clientData }));
  const answered = (response: object) =>
    JSON.stringify({ id: name, rawId: name, type: "public-key", clientExtensionResults: {}, response });
  return {
    publicKey: cose,
    /** The answer of a sign-in. */
    answer(challenge: string, { flags = VERIFIED, clientData, response }: Said = {}): string {
      const [client, authenticatorData] = [clientDataOf("webauthn.get", challenge, clientData), data(flags)];
      const signature = sign("sha256", Buffer.concat([authenticatorData, sha256(client)]), privateKey);
      return answered({
        clientDataJSON: encoded(client),
        authenticatorData: encoded(authenticatorData),
        signature: encoded(signature),
        userHandle: encoded(part(userId.replaceAll("-", ""))),
        ...response,
      });
    },
    /** The answer of a registration, without attestation. */
    created(challenge: string, { flags = NEW_KEY, clientData, response }: Said = {}): string {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const made = Buffer.concat([data(flags), Buffer.alloc(16), length, credentialId, cose]);
      const size = Buffer.alloc(2);
      size.writeUInt16BE(made.length);
      // {"fmt": "none", "attStmt": {}, "authData": made}
      const head = Buffer.concat([part("a363"), Buffer.from("fmt"), part("64"), Buffer.from("none"), part("67"), Buffer.from("attStmt")]);
      const attestation = Buffer.concat([head, part("a068"), Buffer.from("authData"), part("59"), size, made]);
      return answered({
        clientDataJSON: encoded(clientDataOf("webauthn.create", challenge, clientData)),
        attestationObject: encoded(attestation),
        ...response,
      });
    },
  };
}
