import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign, verify, X509Certificate } from "node:crypto";
import { Openid4vpClient } from "@openid4vc/openid4vp";
import { SDJwtVcInstance } from "@sd-jwt/sd-jwt-vc";
import { DcqlQuery } from "dcql";
import { z } from "zod";

// As src/wallet/request.ts does: @openid4vc replaces zod's messages for the whole process.
z.config({ customError: undefined });

/** The key of an issuer or a holder. */
export interface WalletKey {
  readonly alg: "ES256" | "EdDSA";
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, unknown>>;
}

export function walletKey(alg: WalletKey["alg"] = "ES256", kid?: string): WalletKey {
  const { privateKey, publicKey } = alg === "ES256" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
  return { alg, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), ...(kid !== undefined && { kid, alg, use: "sig" }) } };
}

const signature = ({ alg, privateKey: key }: WalletKey, input: string): string =>
  sign(alg === "ES256" ? "sha256" : null, Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");

export const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A compact JWS with any header and claims. */
export function signedJwt(header: object, claims: object, key: WalletKey): string {
  const input = `${encoded({ alg: key.alg, ...header })}.${encoded(claims)}`;
  return `${input}.${signature(key, input)}`;
}

export const hasher = (data: string | ArrayBuffer, alg: string): Uint8Array =>
  createHash(alg.replace("-", ""))
    .update(typeof data === "string" ? data : new Uint8Array(data))
    .digest();
export const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");
export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** The SD-JWT library of an issuer and a wallet, which is not the code under test. */
const sdJwt = (issuer: WalletKey, holder?: WalletKey) =>
  new SDJwtVcInstance({
    hasher,
    hashAlg: "sha-256",
    signAlg: issuer.alg,
    signer: async (input) => signature(issuer, input),
    saltGenerator: async () => randomBytes(16).toString("base64url"),
    ...(holder && { kbSignAlg: holder.alg, kbSigner: async (input: string) => signature(holder, input) }),
  });

export interface CredentialOptions {
  readonly issuer: string;
  readonly by: WalletKey;
  readonly holder: WalletKey;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
}

export const VCT = "urn:eudi:pid:1";

/** A credential with subject and names as separate disclosures. */
export function issueCredential({ issuer, by, holder, claims = {}, header = {} }: CredentialOptions): Promise<string> {
  const now = nowSeconds();
  const { crv, x, y, kty } = holder.jwk;
  const payload = {
    iss: issuer,
    vct: VCT,
    iat: now - 60,
    exp: now + 3_600,
    cnf: { jwk: { kty, crv, x, ...(y !== undefined && { y }) } },
    sub: "user-1",
    given_name: "Ada",
    family_name: "Lovelace",
    ...claims,
  };
  return sdJwt(by, holder).issue(payload as never, { _sd: ["sub", "given_name", "family_name"] } as never, { header }); // the types do not know `sub`
}

/** The claims of a key binding JWT. */
export interface Binding {
  readonly aud: string;
  readonly nonce: string;
  readonly iat?: number;
  readonly sd_hash?: string;
}

/** Appends a key binding JWT to a credential with disclosures; with wrong claims or header where a test sets them. */
export function bind(withoutBinding: string, holder: WalletKey, binding: Binding, header: object = { typ: "kb+jwt" }): string {
  return withoutBinding + signedJwt(header, { iat: nowSeconds(), sd_hash: sha256(withoutBinding), ...binding }, holder);
}

export interface AskedPresentation {
  readonly clientId: string;
  readonly nonce: string;
  readonly state: string;
  readonly responseUri: string;
  readonly query: DcqlQuery.Output;
}

/** A wallet that resolves invocations with the OpenID4VP library and sends what the test sets. */
export function aWallet(options: { readonly fetch?: typeof fetch; readonly authority?: string; readonly holder?: WalletKey } = {}) {
  const ask = options.fetch ?? fetch;
  const holder = options.holder ?? walletKey();
  const client = new Openid4vpClient({
    callbacks: {
      fetch: ask,
      hash: (data: Uint8Array, alg: string) => createHash(alg.replace("-", "")).update(data).digest(),
      getX509CertificateMetadata: (text: string) => {
        const names = new X509Certificate(Buffer.from(text, "base64")).subjectAltName?.split(", ") ?? [];
        return { sanDnsNames: names.flatMap((name) => (name.startsWith("DNS:") ? [name.slice(4)] : [])), sanUriNames: [] };
      },
      verifyJwt: async (signer: { method: string; x5c?: string[] }, { compact }: { compact: string }) => {
        const leaf = new X509Certificate(Buffer.from(signer.x5c?.[0] ?? "", "base64"));
        const authority = new X509Certificate(options.authority ?? "");
        const at = compact.lastIndexOf(".");
        const bytes = Buffer.from(compact.slice(at + 1), "base64url");
        const good =
          leaf.verify(authority.publicKey) &&
          verify("sha256", Buffer.from(compact.slice(0, at)), { key: leaf.publicKey, dsaEncoding: "ieee-p1363" }, bytes);
        const signerJwk = leaf.publicKey.export({ format: "jwk" });
        return good ? { verified: true as const, signerJwk } : { verified: false as const };
      },
    } as never, // this kind of wallet needs only these of the library's callbacks
  });

  /** Resolves an invocation; fetches and verifies its signed request where it has one. */
  async function open(invocationUri: string): Promise<AskedPresentation> {
    const { params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: invocationUri });
    const { authorizationRequestPayload } = await client.resolveOpenId4vpAuthorizationRequest({
      authorizationRequestPayload: params as never,
    });
    const { client_id, nonce, state, response_uri, dcql_query } = authorizationRequestPayload as Record<string, string>;
    const query = DcqlQuery.parse(dcql_query as never);
    DcqlQuery.validate(query);
    return { clientId: client_id ?? "", nonce: nonce ?? "", state: state ?? "", responseUri: response_uri ?? "", query };
  }

  /** Presents the requested claims only, with a key binding. */
  const present = (credential: string, { clientId, nonce, query }: AskedPresentation): Promise<string> => {
    const claims = query.credentials.flatMap((each) => (each.claims ?? []) as readonly { readonly path: readonly string[] }[]); // of SD-JWT VC
    const frame = Object.fromEntries(claims.map(({ path }) => [path[0] ?? "", true]));
    return sdJwt(holder, holder).present(credential, frame, { kb: { payload: { iat: nowSeconds(), aud: clientId, nonce } } });
  };

  /** Posts a form to the response URI. */
  const send = async ({ responseUri }: Pick<AskedPresentation, "responseUri">, form: Record<string, string>) => {
    const response = await ask(responseUri, { method: "POST", body: new URLSearchParams(form), redirect: "manual" });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as { redirect_uri?: string; message?: string },
    };
  };
  const sendPresentation = (asked: AskedPresentation, presentation: unknown) =>
    send(asked, { state: asked.state, vp_token: JSON.stringify({ link: [presentation] }) });

  return {
    holder,
    open,
    present,
    send,
    sendPresentation,
    /** The complete response of an honest wallet whose holder approves. */
    async answer(invocationUri: string, credential: string) {
      const asked = await open(invocationUri);
      return sendPresentation(asked, await present(credential, asked));
    },
    /** The response of a wallet whose holder declines. */
    async decline(invocationUri: string) {
      const asked = await open(invocationUri);
      return send(asked, { state: asked.state, error: "access_denied", error_description: "The owner declined." });
    },
  };
}

export type Wallet = ReturnType<typeof aWallet>;
