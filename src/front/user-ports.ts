import type { ScopeDescriptions } from "../accounts/account.ts";
import type { PendingRequests, RateLimiter, SignInFailures } from "../accounts/ports.ts";
import type { NamedTarget } from "../clients/client.ts";
import type { ManagedClients } from "../clients/ports.ts";
import type { TokenCore } from "../grpc/local.ts";
import type { ShownResources } from "../resources/ports.ts";
import type { Connections, Providers } from "../upstream/ports.ts";
import type { UpstreamPorts } from "../upstream/sign-in.ts";
import type { LinkedWallets } from "../wallet/ports.ts";
import type { FrontTelemetry } from "./http/steps.ts";

/** What the routes for users need: accounts, sessions, consents, and the core, which validates authorization requests. */
export interface UserPorts extends UpstreamPorts, Pick<FrontTelemetry, "fault"> {
  readonly core: TokenCore;
  readonly connections: Connections;
  /** Loads the library at its first use. */
  readonly providers: () => Promise<Providers>;
  readonly pendingRequests: PendingRequests;
  /** Limits how many requests one user or address may start. */
  readonly pendingRate: RateLimiter;
  /** Counts wrong user codes of devices, and refused arrivals from providers. */
  readonly strangerFailures: SignInFailures;
  readonly scopeDescriptions: ScopeDescriptions;
  readonly resources: ShownResources;
  /** The clients that a user owns: they are deleted with the account. */
  readonly clients: Pick<ManagedClients, "list" | "ofOwner">;
  /** The wallets of users, also where no further ones can be linked. */
  readonly linkedWallets: Pick<LinkedWallets, "ofUser">;
  /** The registered clients among what a user has allowed, by client_id. */
  readonly namedTargets: (clientIds: readonly string[]) => Promise<ReadonlyMap<string, NamedTarget>>;
}
