export type { Access, DpopUse, Target } from "./access.ts";
export { type Agent, type AgentOptions, agent, type SignIn } from "./agent.ts";
export {
  type Credential,
  clientSecret,
  privateKey,
  publicClient,
  type WorkloadOptions,
  type WorkloadTokenSource,
  workloadToken,
} from "./credentials.ts";
export { AgentError, type LocalErrorCode } from "./errors.ts";
export { generateProofKey } from "./proof.ts";
export type { SignInRequest } from "./sign-in.ts";
export type { AssertionRequest, AssertionSource, SubjectTokenType } from "./sources.ts";
export type { AccessToken } from "./token-cache.ts";
