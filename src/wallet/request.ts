import { createHmac, createPrivateKey, hash, type KeyObject, sign, type X509Certificate } from "node:crypto";
import { setGlobalConfig } from "@openid4vc/oauth2";
import { createOpenid4vpAuthorizationRequest } from "@openid4vc/openid4vp";
import { z } from "zod";
import type { CredentialQuery } from "./query.ts";
import { certificatesOf, WALLET_ALGORITHMS } from "./signatures.ts";

// Loading @openid4vc replaces zod's error messages in the whole process, also those of the API.
z.config({ customError: undefined });

/** How this server identifies itself to wallets: by its response address, or by a certificate, with signed requests. */
export interface Verifier {
  /** With its prefix, as in requests and key bindings. */
  readonly clientId: string;
  readonly responseUri: string;
  readonly signer: RequestSigner | undefined;
}

/** Signs request objects by ES256 with the key of a certificate; `x5c` is base64 of DER, the leaf first. */
export type RequestSigner = { readonly x5c: readonly string[]; sign(input: string): Promise<Buffer> };

export interface VerifierSettings {
  /** Base URL of this server. */
  readonly issuer: string;
  readonly verifierCert: string | undefined;
  readonly verifierKey: string | undefined;
  readonly clientIdPrefix: "x509_san_dns" | "x509_hash";
}

/** @see OpenID4VP 1.0 §5.9.3 */
export function verifierOf({ issuer, verifierCert, verifierKey, clientIdPrefix }: VerifierSettings): Verifier {
  const responseUri = `${issuer}/auth/link/wallet/response`;
  if (verifierCert === undefined || verifierKey === undefined) {
    return { clientId: `redirect_uri:${responseUri}`, responseUri, signer: undefined };
  }
  const chain = certificatesOf(verifierCert);
  const named = clientIdPrefix === "x509_san_dns" ? new URL(issuer).hostname : hash("sha256", chain[0]?.raw ?? "", "base64url");
  return { clientId: `${clientIdPrefix}:${named}`, responseUri, signer: signerOf(createPrivateKey(verifierKey), chain) };
}

const signerOf = (key: KeyObject, chain: readonly X509Certificate[]): RequestSigner => ({
  x5c: chain.map((certificate) => certificate.raw.toString("base64")),
  sign: async (input) => sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }),
});

/** The audience of request objects, since the wallet is not known (OpenID4VP 1.0 §5.8). */
const ANY_WALLET = "https://self-issued.me/v2";
const SCHEME = "openid4vp://authorize";

/** Derives one secret from another, so that the page can show the request again and the wallet does not learn the handle of the link. */
const derived = (secret: string, purpose: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");

/** The `state` of the request to a wallet, which identifies its response. @param handle known only to the user's session */
export const stateOf = (handle: string): string => derived(handle, "state");

export const nonceOf = (state: string): string => derived(state, "nonce");

/** The parameters of a request. @see OpenID4VP 1.0 §5 */
const parametersOf = ({ clientId, responseUri }: Verifier, query: CredentialQuery, state: string) => ({
  response_type: "vp_token" as const,
  response_mode: "direct_post" as const,
  client_id: clientId,
  response_uri: responseUri,
  nonce: nonceOf(state),
  state,
  dcql_query: query,
  client_metadata: {
    vp_formats_supported: {
      "dc+sd-jwt": {
        "sd-jwt_alg_values": [...WALLET_ALGORITHMS] as [string, ...string[]],
        "kb-jwt_alg_values": [...WALLET_ALGORITHMS] as [string, ...string[]],
      },
    },
  },
});

const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The library leaves signing to these callbacks, and reads no certificate to build a request. */
const callbacks = (signer: RequestSigner | undefined) => ({
  signJwt: async (_: unknown, { header, payload }: { readonly header: object; readonly payload: object }) => {
    if (signer === undefined) throw new Error("requests are unsigned");
    const input = `${segment(header)}.${segment(payload)}`;
    return { jwt: `${input}.${(await signer.sign(input)).toString("base64url")}`, signerJwk: { kty: "EC" } };
  },
  encryptJwe: async () => {
    throw new Error("requests are not encrypted");
  },
});

export type WalletRequests = ReturnType<typeof walletRequests>;

/** Builds requests to wallets. A link always yields the same request. @param issuer base URL; plain http only on a development machine */
export function walletRequests(issuer: string, verifier: Verifier, query: CredentialQuery) {
  const { signer, clientId } = verifier;
  return {
    /** The URI that opens a wallet. @see OpenID4VP 1.0 §5.10 for signed requests, which the wallet fetches */
    async invocationUri(state: string): Promise<string> {
      const payload = parametersOf(verifier, query, state);
      if (signer === undefined) return (await buildRequest(payload)).authorizationRequest;
      const reference = { client_id: clientId, request_uri: `${issuer}/auth/link/wallet/request/${state}`, request_uri_method: "post" };
      return `${SCHEME}?${new URLSearchParams(reference)}`;
    },
    /** The signed request that an invocation refers to, if requests are signed. @param life in seconds since the epoch */
    async requestObject(state: string, life: { readonly from: number; readonly to: number }, walletNonce: string | undefined) {
      if (signer === undefined) return undefined;
      const { jar } = await buildRequest(parametersOf(verifier, query, state), signer, {
        aud: ANY_WALLET,
        iat: life.from,
        exp: life.to,
        ...(walletNonce !== undefined && { wallet_nonce: walletNonce }),
      });
      return jar?.authorizationRequestJwt;
    },
  };
}

/** A request in the library's form, checked against its grammar and signed if there is a signer. */
function buildRequest(payload: ReturnType<typeof parametersOf>, signer?: RequestSigner, claims?: Readonly<Record<string, unknown>>) {
  setGlobalConfig({ allowInsecureUrls: payload.response_uri.startsWith("http:") }); // the library refuses http addresses by default
  return createOpenid4vpAuthorizationRequest({
    scheme: SCHEME,
    authorizationRequestPayload: payload,
    callbacks: callbacks(signer),
    ...(signer && {
      jar: {
        jwtSigner: { method: "x5c", alg: "ES256", x5c: [...signer.x5c] },
        expiresInSeconds: 1, // overridden by the claims
        ...(claims && { additionalJwtPayload: claims }),
      },
    }),
  });
}
