import { createHmac } from "node:crypto";
import { setGlobalConfig } from "@openid4vc/oauth2";
import { createOpenid4vpAuthorizationRequest } from "@openid4vc/openid4vp";
import { z } from "zod";
import { WALLET_ALGORITHMS } from "./algorithms.ts";
import type { AskedFor } from "./query.ts";
import type { RequestSigner, Verifier } from "./verifier.ts";

// Loading @openid4vc replaces zod's error messages in the whole process. The API's messages must not depend on whether the wallet is loaded.
z.config({ customError: undefined });

/** The audience of every request object: which wallet will read it is not known (OpenID4VP 1.0 §5.8). */
const ANY_WALLET = "https://self-issued.me/v2";
const SCHEME = "openid4vp://authorize";

/**
 * A secret that follows from another, one way. So the page that holds a link's handle can show its request again, the wallet that holds the
 * request learns no handle, and nothing of either is stored.
 */
const derived = (secret: string, purpose: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");

/** The `state` of the request to a wallet, by which its answer is known. @param handle known to the person's session alone */
export const stateOf = (handle: string): string => derived(handle, "state");

/** The `nonce` that the holder has to sign. */
export const nonceOf = (state: string): string => derived(state, "nonce");

/** What a wallet is asked, in the words of OpenID4VP 1.0 §5. */
const parametersOf = ({ clientId, responseUri }: Verifier, asked: AskedFor, state: string) => ({
  response_type: "vp_token" as const,
  response_mode: "direct_post" as const,
  client_id: clientId,
  response_uri: responseUri,
  nonce: nonceOf(state),
  state,
  dcql_query: asked,
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

/** The library signs nothing itself, and reads no certificate to make a request. */
const callbacks = (signer: RequestSigner) => ({
  signJwt: async (_: unknown, { header, payload }: { readonly header: object; readonly payload: object }) => {
    const input = `${segment(header)}.${segment(payload)}`;
    return { jwt: `${input}.${(await signer.sign(input)).toString("base64url")}`, signerJwk: { kty: "EC" } };
  },
  encryptJwe: async () => {
    throw new Error("requests are not encrypted");
  },
});

/** Makes requests to wallets. The same link makes the same request, however often it is asked for. */
export interface WalletRequests {
  /** The link that a wallet follows. @see OpenID4VP 1.0 §5.10 for the signed kind, which it fetches */
  invocationUri(state: string): Promise<string>;
  /**
   * The signed request that an invocation refers to; undefined where requests are unsigned.
   * @param life seconds since the epoch  @param walletNonce what the wallet wants to see again
   */
  requestObject(
    state: string,
    life: { readonly from: number; readonly to: number },
    walletNonce: string | undefined,
  ): Promise<string | undefined>;
}

/** @param issuer base URL; plain http is for a development machine alone (settings) */
export function walletRequests(issuer: string, verifier: Verifier, asked: AskedFor): WalletRequests {
  const { signer, clientId } = verifier;
  return {
    async invocationUri(state) {
      const payload = parametersOf(verifier, asked, state);
      if (signer === undefined) return (await made(payload)).authorizationRequest;
      const reference = { client_id: clientId, request_uri: `${issuer}/auth/link/wallet/request/${state}`, request_uri_method: "post" };
      return `${SCHEME}?${new URLSearchParams(reference)}`;
    },
    async requestObject(state, life, walletNonce) {
      if (signer === undefined) return undefined;
      const { jar } = await made(parametersOf(verifier, asked, state), signer, {
        aud: ANY_WALLET,
        iat: life.from,
        exp: life.to,
        ...(walletNonce !== undefined && { wallet_nonce: walletNonce }),
      });
      return jar?.authorizationRequestJwt;
    },
  };
}

type Parameters = ReturnType<typeof parametersOf>;

/** The library's request: checked against its grammar and, with a signer, signed. */
function made(payload: Parameters, signer: RequestSigner = NOBODY, claims?: Readonly<Record<string, unknown>>) {
  setGlobalConfig({ allowInsecureUrls: payload.response_uri.startsWith("http:") }); // by itself it takes no http address
  return createOpenid4vpAuthorizationRequest({
    scheme: SCHEME,
    authorizationRequestPayload: payload,
    callbacks: callbacks(signer),
    ...(claims && {
      jar: {
        jwtSigner: { method: "x5c", alg: "ES256", x5c: [...signer.x5c] },
        expiresInSeconds: 1, // the claims say when
        additionalJwtPayload: claims,
      },
    }),
  });
}

const NOBODY: RequestSigner = {
  x5c: [],
  sign: async () => {
    throw new Error("requests are unsigned");
  },
};
