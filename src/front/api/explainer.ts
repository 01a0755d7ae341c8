import { type ExplainResponse, type RefusedTokenRequest, Verdict, type WouldBeGranted } from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import type { Explainer, Explanation, RuleVerdict } from "../../management/explainer.ts";

const WORDS: Readonly<Record<Verdict, RuleVerdict | undefined>> = {
  [Verdict.UNSPECIFIED]: undefined,
  [Verdict.PASSED]: "passed",
  [Verdict.REFUSED]: "refused",
  [Verdict.NOT_REACHED]: "not_reached",
  [Verdict.TAKEN_FOR_GRANTED]: "taken_for_granted",
};

/** @param tokenUrl the URL for which proofs of possession are made */
export function explainerOf(core: Pick<TokenCore, "explain">, tokenUrl: string): Explainer {
  const ask = async (subject: Parameters<TokenCore["explain"]>[0]["subject"], signal: AbortSignal | undefined, address = "") =>
    explanationOf(await core.explain({ address, ...(subject && { subject }) }, { ...(signal && { signal }) }));
  return {
    ofRequest: ({ client, grant, proof }, signal) => {
      const dpop = proof === undefined ? undefined : { proof, htm: "POST", htu: tokenUrl };
      return ask({ case: "tokenRequest", value: { client: { ...client, dpop }, grant } }, signal);
    },
    ofAuthorization: (request, address, signal) => ask({ case: "authorizationRequest", value: request }, signal, address),
    ofWorkloadToken: (token, verifySignature, signal) => ask({ case: "workloadToken", value: { token, verifySignature } }, signal),
    ofRefusal: (requestId, signal) => ask({ case: "requestId", value: requestId }, signal),
  };
}

const explanationOf = ({ rules, granted, refused, droppedScope, clientId }: ExplainResponse): Explanation => ({
  rules: rules.map(({ rule, demand, source, verdict, error, reason }) => ({
    rule,
    demand,
    source,
    // A later core may send a verdict that this front does not know.
    verdict: WORDS[verdict] ?? "not_reached",
    error,
    reason,
  })),
  ...(granted && { granted: grantedOf(granted) }),
  ...(droppedScope.length > 0 && { droppedScope }),
  clientId,
  ...(refused && { refused: refusedOf(refused) }),
});

const grantedOf = ({ sub, scope, aud, expiresIn, issuedTokenType, refreshToken, idToken, actors }: WouldBeGranted) => {
  return { sub, scope, aud, expiresIn, issuedTokenType, refreshToken, idToken, actors };
};

const refusedOf = ({ clientId, grantType, reason, at, error }: RefusedTokenRequest) => ({ clientId, grantType, reason, at, error });
