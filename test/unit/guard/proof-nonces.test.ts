import { expect, test } from "vitest";
import { proofVerifier } from "../../../guard-sdk/src/proof.ts";
import { type JudgeNonce, nonceJudge } from "../../../guard-sdk/src/proof-nonces.ts";
import { GuardRefusal } from "../../../guard-sdk/src/refusal.ts";
import { aProof, proofKey } from "../../support/dpop.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const NOW = 1_500_000;
const SECRET = "a secret of all processes, long enough";

/** The nonce that is given for another one. */
async function givenBy(judge: JudgeNonce, now: number, sent?: unknown): Promise<string> {
  const refusal = await judge(sent, now).catch((error: unknown) => error);
  if (refusal instanceof GuardRefusal && refusal.code === "use_dpop_nonce") return refusal.dpopNonce ?? "";
  throw new Error(`not refused: ${refusal}`);
}

test("RFC 9449 §9: a nonce is accepted for its period of 150 s and the next, in which another one is given", async () => {
  const judge = nonceJudge(SECRET);
  const nonce = await givenBy(judge, NOW);
  expect(nonce).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(await judge(nonce, NOW + 149)).toBeUndefined();
  const next = await judge(nonce, NOW + 150);
  expect(next).not.toBe(nonce);
  expect(await judge(next, NOW + 150)).toBeUndefined();
  expect(await judge(nonce, NOW + 299)).toBe(next);
  expect(await givenBy(judge, NOW + 300, nonce)).not.toBe(nonce);
});

test("processes with one secret accept each other's nonces; without one each has its own", async () => {
  const nonce = await givenBy(nonceJudge(SECRET), NOW);
  expect(await nonceJudge(SECRET)(nonce, NOW)).toBeUndefined();
  for (const other of [nonceJudge(`${SECRET}!`), nonceJudge(true), nonceJudge(true)]) {
    const its = await givenBy(other, NOW, nonce);
    expect(its).not.toBe(nonce);
    expect(await other(its, NOW)).toBeUndefined();
  }
});

test.for([undefined, "", 1, "A".repeat(43)])("%j is no nonce", async (sent) => {
  expect(await givenBy(nonceJudge(true), NOW, sent)).not.toBe(sent);
});

test("a proof is asked for a nonce if all else is right, and is not used up by that", async () => {
  const [url, token] = ["https://notes.example/mcp", "token"];
  const judge = nonceJudge(SECRET);
  const verify = proofVerifier(() => NOW, judge);
  const key = proofKey();
  const proofOf = (claims: object) => aProof(key, { url, accessToken: token, claims: { iat: NOW, jti: "one", ...claims } });
  const verdict = (claims: object) => verify({ proofs: [proofOf(claims)], method: "POST", url, token });
  expect(await refusalOf(() => verdict({}))).toEqual(["use_dpop_nonce", "proof_nonce_differs"]);
  expect(await refusalOf(() => verdict({ htm: "GET" }))).toEqual(["invalid_dpop_proof", "proof_for_another_method"]);
  const earlier = await givenBy(judge, NOW - 150);
  expect((await verdict({ nonce: earlier })).dpopNonce).toBe(await givenBy(judge, NOW));
});
