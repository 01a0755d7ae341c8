import { assertWithin } from "../../../accounts/caller.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { parseForm } from "../../../protocol/form.ts";
import { hashSecret, newSecret, type SecretHash } from "../../../random.ts";
import { type Connection, connectionUnknown } from "../../../upstream/connection.ts";
import type { SignInSecrets } from "../../../upstream/ports.ts";
import { csrfToken } from "../../http/cookies.ts";
import { boundOf, PENDING_TTL } from "../../oauth/authorize.ts";
import { expired, extendRequest } from "../../oauth/pending-request.ts";
import { returnToOf, type Visit } from "../kit.ts";
import { type ReturnTo, returnToMember } from "../views/layout.ts";

/** Where a user goes who left for a provider. */
export interface Detour {
  readonly connectionId: string;
  readonly returnTo: ReturnTo;
  /** The session whose user links an identity; undefined for a sign-in. */
  readonly linkFor: string | undefined;
  /** Whether the user must prove again who they are. */
  readonly again: boolean;
}

const detourHash = (state: string, browser: string): SecretHash => hashSecret(`upstream ${state} ${browser}`);

/** Nonce and verifier derive from the secret of the browser, so that they are not stored, and no other browser can come back. */
const secretsOf = (state: string, browser: string): SignInSecrets => ({
  state,
  nonce: csrfToken(browser, `upstream nonce ${state}`),
  verifier: csrfToken(browser, `upstream verifier ${state}`),
});

/** Remembers where a user of this browser goes, and keeps the application's request waiting. @throws {Refusal} too_many_requests */
export async function beginDetour(visit: Visit, signedIn: SignedIn | undefined, detour: Detour): Promise<SignInSecrets> {
  const { ports, cookies, ctx } = visit;
  const bound = boundOf(signedIn, ctx.state.address);
  await assertWithin(ports.pendingRate, bound.holder);
  const browser = cookies.browser(ctx);
  const state = newSecret(ports.randomBytes);
  const { connectionId, returnTo, linkFor, again } = detour;
  const members = [["connection", connectionId]];
  const destination = returnToMember(returnTo);
  if (destination !== undefined) members.push([...destination]);
  if (linkFor !== undefined) members.push(["session", linkFor]);
  if (again) members.push(["again", "1"]);
  await ports.pendingRequests.put(detourHash(state, browser), new URLSearchParams(members).toString(), PENDING_TTL, bound);
  await extendRequest(visit, returnTo);
  return secretsOf(state, browser);
}

/** The detour that this browser comes back from, once. @throws {Refusal} invalid_request for an unknown one */
export async function endDetour(
  { ports, cookies, site, ctx }: Visit,
  state: string | undefined,
): Promise<Detour & { readonly secrets: SignInSecrets }> {
  const browser = cookies.visitor(ctx);
  if (state === undefined || browser === undefined) throw expired();
  const used = hashSecret(`upstream used ${state} ${browser}`);
  const pending = await ports.pendingRequests.take(detourHash(state, browser), used, 1);
  if (pending === undefined) throw expired();
  const members = parseForm(pending.query);
  const again = members.get("again") !== undefined;
  const maxAge = again ? { maxAge: Math.max(0, ports.clock() - pending.createdAt) } : {};
  return {
    connectionId: members.get("connection") ?? "",
    returnTo: returnToOf(site, members),
    linkFor: members.get("session"),
    again,
    secrets: { ...secretsOf(state, browser), ...maxAge },
  };
}

/** @throws {Refusal} not_found */
export async function connectionNamed({ ports }: Visit, name: string): Promise<Connection> {
  const connection = await ports.connections.byName(name);
  if (connection?.enabled) return connection;
  throw connectionUnknown();
}
