import { allowInsecureRequests, ClientSecretBasic, discovery, genericGrantRequest } from "openid-client";

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** Who the agent is, to the authorization server. */
export interface AgentIdentity {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * A token of the same person, with which the agent acts for that person at one resource: narrower than what was received, and it says who acts.
 * @param subjectToken the person's access token; its `aud` names this agent and the resource
 * @throws when the authorization server refuses
 * @see RFC 8693 §2.1
 */
export async function tokenOnBehalf(
  { issuer, clientId, clientSecret }: AgentIdentity,
  subjectToken: string,
  resource: string,
  scope: string,
) {
  const local = new URL(issuer).protocol === "http:"; // on one's own machine
  const config = await discovery(new URL(issuer), clientId, undefined, ClientSecretBasic(clientSecret), {
    algorithm: "oauth2",
    ...(local && { execute: [allowInsecureRequests] }),
  });
  const { access_token } = await genericGrantRequest(config, GRANT, {
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN,
    resource,
    scope,
  });
  return access_token;
}
