import { z } from "zod";
import { inMilliseconds, milliseconds } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import { newId } from "../../random.ts";
import { type Connection, changedConnection, newConnection as sealed } from "../../upstream/connection.ts";
import { CONNECTION_SORTS } from "../../upstream/ports.ts";
import { found, ifUnchanged } from "../clients.ts";
import { inParts, listing, RecordId, realmInput, search, updatedAt } from "../inputs.ts";
import type { ManagementPorts } from "../ports.ts";
import { ConnectionName, connectionSettings, newConnection } from "../record-inputs.ts";
import { notAdded, operatorProcedure, provenOperatorProcedure, realmOf, router } from "../trpc.ts";
import { pageView } from "../views.ts";

const named = z.strictObject({ name: ConnectionName });
const Filter = z.strictObject({ ...realmInput, ...listing(CONNECTION_SORTS), enabled: z.boolean().optional(), search });

const unknown = () => new Refusal("not_found", "connection_unknown", { description: "There is no connection of this name." });

/** Never has the secret. */
const connectionView = (connection: Connection, issuer: string) => ({
  name: connection.name,
  realmId: connection.realmId,
  title: connection.title,
  protocol: connection.protocol,
  issuer: connection.issuer,
  clientId: connection.clientId,
  authMethod: connection.authMethod,
  /** The key to register with the provider, for private_key_jwt. */
  publicKey: connection.publicKey,
  scopes: connection.scopes,
  domains: connection.domains,
  trustsAcr: connection.trustsAcr,
  enabled: connection.enabled,
  /** The redirect URI to register with the provider. */
  redirectUri: `${issuer}/signin/${connection.name}/callback`,
  createdAt: milliseconds(connection.createdAt),
  updatedAt: milliseconds(connection.updatedAt ?? connection.createdAt),
});

const namedConnection = async ({ managedConnections }: ManagementPorts, name: string) =>
  found(await managedConnections.one({ name }), unknown);

/** Identity providers that users sign in by. @see docs/protocol.md#upstream-sign-in */
export const operatorConnectionsRouter = router({
  /** Of all realms, or of the one that is named: a name is that of one connection, and the sign-in page offers all. */
  list: operatorProcedure.input(Filter.prefault({})).query(async ({ ctx, input }) => {
    const page = await ctx.ports.managedConnections.list(...inParts(input));
    return pageView("connections", page, (each) => connectionView(each, ctx.ports.issuer));
  }),

  get: operatorProcedure
    .input(named)
    .query(async ({ ctx, input: { name } }) => connectionView(await namedConnection(ctx.ports, name), ctx.ports.issuer)),

  create: provenOperatorProcedure
    .input(z.strictObject({ ...realmInput, ...newConnection }))
    .mutation(async ({ ctx, input: { realmId, ...request } }) => {
      const { managedConnections, clock, randomBytes, box, issuer } = ctx.ports;
      const connection = sealed(request, newId(clock, randomBytes), await realmOf(ctx.ports, realmId), box);
      const added = await managedConnections.add(connection, ctx.audit("connection.created"));
      if (added === undefined) {
        const known = await managedConnections.one({ name: connection.name });
        throw notAdded(known !== undefined, "connection_known", "There is a connection of this name already, perhaps in another realm.");
      }
      return connectionView(added, issuer);
    }),

  update: provenOperatorProcedure
    .input(z.strictObject({ name: ConnectionName, ...connectionSettings, clientId: newConnection.clientId.optional(), updatedAt }))
    .mutation(async ({ ctx, input: { name, updatedAt: read, ...change } }) => {
      const { managedConnections, box, issuer } = ctx.ports;
      const decide = ifUnchanged(read, (connection: Connection) => changedConnection(connection, change, box));
      return connectionView(found(await managedConnections.change({ name }, decide, ctx.audit("connection.changed")), unknown), issuer);
    }),

  remove: provenOperatorProcedure.input(named).mutation(async ({ ctx, input: { name } }) => {
    if (!(await ctx.ports.managedConnections.remove({ name }, ctx.audit("connection.deleted")))) throw unknown();
    return { name };
  }),

  /** The identities that sign in to a user's account; `title`: of the connection, null when it was removed. */
  identities: operatorProcedure.input(z.strictObject({ userId: RecordId })).query(async ({ ctx, input: { userId } }) => {
    const { users, identityLinks } = ctx.ports;
    if ((await users.byId(userId)) === undefined) throw new Refusal("not_found", "user_unknown", { description: "There is no such user." });
    const identities = (await identityLinks.ofUser(userId)).filter(({ confirmed }) => confirmed);
    return { identities: identities.map(({ confirmed: _, ...identity }) => inMilliseconds(identity, "createdAt")) };
  }),

  /** Reads the provider's metadata and tries the credentials. Writes nothing. */
  test: operatorProcedure.input(named).query(async ({ ctx, input: { name } }) => {
    const verdict = await (await ctx.ports.providers()).test(await namedConnection(ctx.ports, name));
    return verdict.kind === "works"
      ? { works: true, stage: null, reason: null }
      : { works: false, stage: verdict.stage, reason: verdict.reason };
  }),
});
