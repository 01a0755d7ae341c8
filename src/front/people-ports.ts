import type { AgentPorts } from "../accounts/agents.ts";
import type { ConsentPorts } from "../accounts/consents.ts";
import type { PendingRequests } from "../accounts/ports.ts";
import type { RegistrationPorts } from "../accounts/registration.ts";
import type { ScopeDescriptions } from "../accounts/scope-descriptions.ts";
import type { Caller } from "../accounts/sessions.ts";
import type { SignInPorts } from "../accounts/sign-in.ts";
import type { TokenCore } from "../grpc/local.ts";
import { limitKey } from "./middleware/address.ts";
import type { ReportFault } from "./ports.ts";
import type { FrontContext } from "./routes.ts";

/** All that the routes for people need: accounts, sessions, consents, and the core that judges authorization requests. */
export interface PeoplePorts extends RegistrationPorts, SignInPorts, ConsentPorts, AgentPorts {
  readonly core: TokenCore;
  readonly pendingRequests: PendingRequests;
  readonly scopeDescriptions: ScopeDescriptions;
  readonly fault: ReportFault;
}

/** Who asks, for limits and audit records. */
export const callerOf = (ctx: FrontContext): Caller => ({
  address: ctx.state.address,
  limitKey: limitKey(ctx.state.address),
  requestId: ctx.state.requestId,
});
