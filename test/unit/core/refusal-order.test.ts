import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { proofNonces } from "../../../src/core/dpop.ts";
import { Refusal } from "../../../src/errors.ts";
import { TokenRequestSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { aClient, aCode, aFamily, VERIFIER } from "../../support/builders.ts";
import { aProof, proofKey, thumbprintOf } from "../../support/dpop.ts";
import { ask, ISSUER, type MemoryWorld, memoryCore, NOW } from "../../support/memory-core.ts";

const [key, otherKey] = [proofKey(), proofKey()];
const url = `${ISSUER}/oauth/token`;
const client = aClient({ grantTypes: ["authorization_code", "refresh_token", "client_credentials"] });
const publicClient = { ...client, tokenEndpointAuthMethod: "none", secretHash: null } as const;
const bound = thumbprintOf(key);

const CREDENTIALS = {
  right: { basic: { clientId: client.clientId, clientSecret: "the-secret" } },
  wrong: { basic: { clientId: client.clientId, clientSecret: "wrong" } },
  public: { clientId: client.clientId },
};
const { redirectUri } = aCode();
const GRANTS = {
  none: {},
  code: { grant: { case: "authorizationCode", value: { code: "code", redirectUri, codeVerifier: VERIFIER } } },
  "code elsewhere": {
    grant: { case: "authorizationCode", value: { code: "code", redirectUri: "https://other.example.test/cb", codeVerifier: VERIFIER } },
  },
  "code without value": { grant: { case: "authorizationCode", value: { redirectUri, codeVerifier: VERIFIER } } },
  refresh: { grant: { case: "refreshToken", value: { refreshToken: "refresh token" } } },
  "client credentials": { grant: { case: "clientCredentials", value: { scope: "notes:read" } } },
} as const;
const proof = (by = key, claims = {}) => aProof(by, { url, claims: { iat: NOW, ...claims } });
const PROOFS = { right: proof(), "other key": proof(otherKey), malformed: "x", none: undefined };

interface Row {
  readonly credential?: keyof typeof CREDENTIALS;
  readonly proof?: keyof typeof PROOFS;
  readonly grant: keyof typeof GRANTS;
  readonly world?: MemoryWorld;
}

const code = aCode({ dpopJkt: bound });
const family = aFamily({ cnf: { jkt: bound } });
const used = { succeeds: false };
/** The store undoes an effect whose proof was used before. */
const overtaken: MemoryWorld = {
  ports: ({ codes }) => ({
    codes: {
      ...codes,
      redeem: async () => {
        throw new Refusal("invalid_dpop_proof", "dpop_proof_used");
      },
    },
  }),
};
const asPublic = { clients: [publicClient] };
const nonces: MemoryWorld = { ports: ({ keys }) => ({ proofNonces: proofNonces(keys) }) };
const boundClients = { clients: [{ ...client, dpopBoundAccessTokens: true }] };

/** A request, its refusal (or "granted"), and everything that it wrote. */
const ROWS: readonly (readonly [name: string, request: Row, reason: string, writes: readonly string[]])[] = [
  [
    "an unauthenticated client burns no proof",
    { credential: "wrong", grant: "code", world: { code } },
    "wrong_secret",
    ["throttle.failed"],
  ],
  ["a request without a grant burns no proof", { grant: "none" }, "grant_missing", []],
  [
    "a malformed proof comes before the grant",
    { proof: "malformed", grant: "code elsewhere", world: { code } },
    "dpop_malformed",
    ["audit.record"],
  ],
  [
    "a missing nonce comes before the grant, without a record",
    { grant: "code elsewhere", world: { code, ...nonces } },
    "dpop_nonce_differs",
    [],
  ],
  [
    "a used proof comes before the grant",
    { grant: "code elsewhere", world: { code, ...used } },
    "dpop_proof_used",
    ["consume", "audit.record"],
  ],
  [
    "a missing proof comes before the grant",
    { proof: "none", grant: "code elsewhere", world: { code, ...boundClients } },
    "dpop_missing",
    ["audit.record"],
  ],
  ["a missing parameter comes after the proof", { grant: "code without value" }, "code_missing", ["consume", "audit.record"]],
  ["an unknown code", { grant: "code" }, "code_unknown", ["consume", "audit.record"]],
  ["an unknown code of a public client burns no proof", { credential: "public", grant: "code", world: asPublic }, "code_unknown", []],
  [
    "a grant that no public client may use burns no proof",
    { credential: "public", grant: "client credentials", world: asPublic },
    "public_client",
    [],
  ],
  [
    "a known code of a public client burns the proof with itself",
    { credential: "public", grant: "code", world: { ...asPublic, code } },
    "granted",
    ["code.redeem"],
  ],
  [
    "another redirect URI keeps the code",
    { grant: "code elsewhere", world: { code } },
    "redirect_uri_differs",
    ["consume", "audit.record"],
  ],
  ["another key keeps the code", { proof: "other key", grant: "code", world: { code } }, "dpop_key_differs", ["consume", "audit.record"]],
  ["no proof keeps the code", { proof: "none", grant: "code", world: { code } }, "dpop_missing", ["audit.record"]],
  [
    "another key does not revoke a used code",
    { proof: "other key", grant: "code", world: { code: { ...code, grantId: "g" } } },
    "dpop_key_differs",
    ["consume", "audit.record"],
  ],
  [
    "another key keeps the refresh token",
    { proof: "other key", grant: "refresh", world: { family } },
    "dpop_key_differs",
    ["consume", "audit.record"],
  ],
  [
    "another key does not revoke a used refresh token",
    { proof: "other key", grant: "refresh", world: { family: { ...family, usedAt: NOW - 100 } } },
    "dpop_key_differs",
    ["consume", "audit.record"],
  ],
  ["no proof keeps the refresh token", { proof: "none", grant: "refresh", world: { family } }, "dpop_missing", ["audit.record"]],
  ["the right key redeems the code", { grant: "code", world: { code } }, "granted", ["code.redeem"]],
  ["the right key rotates the refresh token", { grant: "refresh", world: { family } }, "granted", ["family.rotate"]],
  [
    "a proof that another request uses at the same time comes before the code",
    { grant: "code", world: { code, ...overtaken } },
    "dpop_proof_used",
    ["audit.record"],
  ],
  [
    "a used proof does not revoke a used code",
    { grant: "code", world: { code: { ...code, grantId: "g" }, ...used } },
    "dpop_proof_used",
    ["consume", "audit.record"],
  ],
  [
    "a used proof does not revoke a used refresh token",
    { grant: "refresh", world: { family: { ...family, usedAt: NOW - 100 }, ...used } },
    "dpop_proof_used",
    ["consume", "audit.record"],
  ],
  [
    "a proof is used up before a used code is revoked",
    { grant: "code", world: { code: { ...code, grantId: "g" } } },
    "code_replayed",
    ["consume", "grant.revoke"],
  ],
  [
    "a front that passes on no proofs gets unbound tokens",
    { proof: "none", grant: "client credentials" },
    "granted",
    ["audit.recordIssue"],
  ],
];

describe("docs/protocol.md#proof-of-possession: form, client, proof, grant", () => {
  test.for(ROWS)("%s", async ([, { credential = "right", proof: sent = "right", grant, world = {} }, reason, expected]) => {
    const { core, writes } = await memoryCore({ clients: [client], ...world });
    const given = PROOFS[sent];
    const dpop = given === undefined ? {} : { dpop: { proof: given, htm: "POST", htu: url } };
    const request = create(TokenRequestSchema, { client: { ...CREDENTIALS[credential], ...dpop }, ...GRANTS[grant] });
    const answer = await ask(core, "token", request);
    expect([Array.isArray(answer) ? answer[1] : "granted", writes.map(([method]) => method)]).toEqual([reason, expected]);
  });
});
