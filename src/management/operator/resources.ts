import { z } from "zod";
import { Refusal } from "../../errors.ts";
import { merged } from "../../merged.ts";
import { isWebResource } from "../../protocol/access.ts";
import { metadataUrl, type ResourceMetadata } from "../../resources/metadata.ts";
import { RESOURCE_SORTS } from "../../resources/ports.ts";
import { defaultSettings, mayHaveRecord, RESOURCE_ORIGINS, type ResourceRecord } from "../../resources/resource.ts";
import { found, ifUnchanged } from "../clients.ts";
import { inParts, listing, paging, realmInput, search, updatedAt } from "../inputs.ts";
import { NewResourceUri, ResourceUri, resourceSettings } from "../record-inputs.ts";
import { notAdded, operatorProcedure, provenOperatorProcedure, realmOf, router } from "../trpc.ts";
import { auditView, pageView, recordView } from "../views.ts";

const named = { ...realmInput, resource: ResourceUri };
const Filter = z.strictObject({
  ...realmInput,
  ...listing(RESOURCE_SORTS),
  enabled: z.boolean().optional(),
  origin: z.enum(RESOURCE_ORIGINS).optional(),
  search,
});

const unknown = () => new Refusal("not_found", "resource_unknown", { description: "This resource has no record." });

function differenceOf(record: ResourceRecord, { scopes }: ResourceMetadata) {
  const names = record.scopes.map(({ name }) => name);
  return { added: scopes.filter((name) => !names.includes(name)), removed: names.filter((name) => !scopes.includes(name)) };
}

/** Records of protected resources. @see docs/protocol.md#resource-records */
export const operatorResourcesRouter = router({
  list: operatorProcedure.input(Filter.prefault({})).query(async ({ ctx, input }) => {
    const [filter, part] = inParts(input);
    const realmId = await realmOf(ctx.ports, input.realmId);
    return pageView("resources", await ctx.ports.managedResources.list({ ...filter, realmId }, part), recordView);
  }),

  get: operatorProcedure.input(z.strictObject(named)).query(async ({ ctx, input: { realmId, resource } }) => {
    return recordView(found(await ctx.ports.managedResources.one({ realmId: await realmOf(ctx.ports, realmId), resource }), unknown));
  }),

  create: operatorProcedure
    .input(z.strictObject({ ...named, resource: NewResourceUri, ...resourceSettings }))
    .mutation(async ({ ctx, input: { realmId, resource, ...settings } }) => {
      const { issuer, managedResources } = ctx.ports;
      if (!mayHaveRecord(resource, issuer))
        throw new Refusal("invalid_request", "resource_is_issuer", { description: "This server itself has no record." });
      const inRealm = await realmOf(ctx.ports, realmId);
      const record = { ...merged(defaultSettings(resource), settings), resource, realmId: inRealm, origin: "operator" } as const;
      const added = await managedResources.add(record, ctx.audit("resource.created"));
      if (added === undefined) {
        const known = await managedResources.one({ realmId: inRealm, resource });
        throw notAdded(known !== undefined, "resource_known", "This resource has a record already: update that one.");
      }
      return recordView(added);
    }),

  update: operatorProcedure
    .input(z.strictObject({ ...named, ...resourceSettings, updatedAt }))
    .mutation(async ({ ctx, input: { realmId, resource, updatedAt: read, ...settings } }) => {
      const inRealm = await realmOf(ctx.ports, realmId);
      const decide = ifUnchanged(read, (record: ResourceRecord) => merged(record, settings));
      return recordView(
        found(await ctx.ports.managedResources.change({ realmId: inRealm, resource }, decide, ctx.audit("resource.changed")), unknown),
      );
    }),

  remove: provenOperatorProcedure.input(z.strictObject(named)).mutation(async ({ ctx, input: { realmId, resource } }) => {
    const inRealm = await realmOf(ctx.ports, realmId);
    if (!(await ctx.ports.managedResources.remove({ realmId: inRealm, resource }, ctx.audit("resource.deleted")))) throw unknown();
    return { resource };
  }),

  /** Recent token requests that named the resource and were refused, with the reasons of the last 24 hours on the first page. */
  refusals: operatorProcedure
    .input(z.strictObject({ ...named, ...paging }))
    .query(async ({ ctx, input: { realmId, resource, limit, cursor } }) => {
      const inRealm = await realmOf(ctx.ports, realmId);
      const isFirst = cursor === undefined;
      const [page, reasons] = await Promise.all([
        ctx.ports.resourceRefusals.list(inRealm, resource, { limit, cursor, count: isFirst }),
        isFirst ? ctx.ports.resourceRefusals.reasons(inRealm, resource) : null,
      ]);
      return { ...pageView("records", page, auditView), reasons };
    }),

  /** What `countersign doctor` says of a resource, by requests of this server. Writes nothing. */
  examine: operatorProcedure.input(z.strictObject({ resource: ResourceUri })).query(async ({ ctx, input: { resource } }) => {
    if (!isWebResource(resource))
      throw new Refusal("invalid_request", "resource_without_metadata", { description: "Only an http or https resource can be examined." });
    return ctx.ports.resourceDoctor(resource);
  }),

  /** Reads the resource's metadata document (RFC 9728) and compares it with the record, if there is one. Writes nothing. */
  inspect: operatorProcedure.input(z.strictObject(named)).query(async ({ ctx, input: { realmId, resource } }) => {
    const { managedResources, resourceMetadata } = ctx.ports;
    if (!isWebResource(resource))
      throw new Refusal("invalid_request", "resource_without_metadata", { description: "Only an http or https resource has metadata." });
    const [record, found] = await Promise.all([
      managedResources.one({ realmId: await realmOf(ctx.ports, realmId), resource }),
      resourceMetadata(resource),
    ]);
    const metadata = typeof found === "string" ? null : { name: found.name ?? null, scopes: found.scopes };
    return {
      resource,
      metadataUrl: metadataUrl(resource),
      metadata,
      /** Why the document is not used, as a fixed word. */
      fault: typeof found === "string" ? found : null,
      record: record === undefined ? null : recordView(record),
      /** Scopes that the document has and the record has not, and the other way round. */
      difference: record === undefined || typeof found === "string" ? null : differenceOf(record, found),
    };
  }),
});
