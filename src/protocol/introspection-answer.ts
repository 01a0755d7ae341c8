import type { Actor, IntrospectResponse } from "../gen/countersign/introspection/v1/introspection_pb.ts";

/** The media type of a signed answer, and the type of its JWT (RFC 9701 §4, §5). */
export const SIGNED_ANSWER = "application/token-introspection+jwt";

/** Whether an `Accept` header asks for a signed answer. Any type that only includes it, such as a wildcard, does not. */
export const asksForSigned = (accept: string | undefined): boolean =>
  accept?.split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return type === SIGNED_ANSWER && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  }) ?? false;

/** The members of RFC 7662 §2.2: only `active` for an inactive token. */
export function introspectionJson(result: IntrospectResponse): object {
  if (!result.active) return { active: false };
  return {
    active: true,
    sub: result.sub,
    client_id: result.clientId,
    scope: result.scope,
    aud: result.aud.length === 1 ? result.aud[0] : result.aud,
    iss: result.iss,
    exp: result.exp,
    iat: result.iat,
    token_type: result.tokenType,
    act: result.act && actorJson(result.act),
    cnf: result.cnf && { jkt: result.cnf.jkt, "x5t#S256": result.cnf.x5tS256 },
    acr: result.acr || undefined,
    amr: result.amr.length > 0 ? result.amr : undefined,
    auth_time: result.authTime || undefined,
    pqc_signature: result.pqcSignature || undefined,
    pqc_alg: result.pqcAlg || undefined,
  };
}

/** The current actor is the outermost (RFC 8693 §4.1). */
const actorJson = ({ sub, act }: Actor): object => (act === undefined ? { sub } : { sub, act: actorJson(act) });
