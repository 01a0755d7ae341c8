import { decodeJwt } from "jose";
import { allowInsecureRequests, ClientSecretBasic, discovery, genericGrantRequest } from "openid-client";
import { answerOf, OAuthRefusal } from "./reason.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** Who the agent is, to the authorization server. */
export interface AgentIdentity {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * A token of the same user, with which the agent acts for that user at one resource: narrower than what was received, and it says who acts.
 * @param subjectToken the user's access token; its `aud` names this agent and the resource
 * @throws when the authorization server refuses or is away; with a hint when the subject token is not for this agent
 * @see RFC 8693 §2.1
 */
export async function tokenOnBehalf(
  { issuer, clientId, clientSecret }: AgentIdentity,
  subjectToken: string,
  resource: string,
  scope: string,
) {
  const local = new URL(issuer).protocol === "http:"; // on one's own machine
  const config = await answerOf(
    issuer,
    discovery(new URL(issuer), clientId, undefined, ClientSecretBasic(clientSecret), {
      algorithm: "oauth2",
      ...(local && { execute: [allowInsecureRequests] }),
    }),
  );
  const parameters = { subject_token: subjectToken, subject_token_type: ACCESS_TOKEN, resource, scope };
  const { access_token } = await answerOf(issuer, genericGrantRequest(config, GRANT, parameters)).catch((cause: unknown) => {
    throw wasNotHandedTo(clientId, subjectToken, cause) ? new Error(`${cause.message}; ${hint(clientId, resource)}`, { cause }) : cause;
  });
  return access_token;
}

/** Whether that may be why the exchange was refused. The token is only looked at: the authorization server is who judges it. */
function wasNotHandedTo(clientId: string, subjectToken: string, error: unknown): error is OAuthRefusal {
  if (!(error instanceof OAuthRefusal) || error.error !== "invalid_request") return false;
  try {
    return ![decodeJwt(subjectToken).aud].flat().includes(clientId);
  } catch {
    return false; // no JWT at all, of which the answer says what there is to say
  }
}

const hint = (clientId: string, resource: string) =>
  `the token was not handed to this agent: its aud does not name ${clientId}. Ask for it with two resource parameters, ${resource} and ${clientId}`;
