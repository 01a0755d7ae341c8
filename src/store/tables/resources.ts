import type { ClientKind, ResourceOrigin, ResourceScope } from "../../resources/resource.ts";
import { boolean, createdAt, id, integer, json, nullable, reference, table, text, texts, time } from "./table.ts";

export const RESOURCES = table(
  "resources",
  {
    id: id(),
    realmId: reference("realms"),
    /** As `resourceKey` writes it. */
    resource: text(),
    name: text(),
    scopes: json<readonly ResourceScope[]>(),
    clients: texts<readonly ClientKind[]>(),
    accessTokenLifetime: nullable(integer()),
    enabled: boolean({ default: "true" }),
    origin: text<ResourceOrigin>(),
    createdAt: createdAt(),
    updatedAt: nullable(time()),
  },
  {
    indexes: {
      resources_resource_index: '(realm_id, resource collate "C", id)',
      resources_name_index: '(realm_id, lower("left"(name, 100)), id)',
      resources_realm_index: "(realm_id, id)",
    },
    uniques: { resources_resource_realm_id_unique: ["resource", "realmId"] },
    checks: {
      resources_origin_check: "origin = any (array['operator'::text, 'file'::text, 'discovered'::text])",
      resources_clients_check: "clients <@ array['registered'::text, 'document'::text, 'named'::text]",
      resources_access_token_lifetime_check: "access_token_lifetime > 0",
    },
  },
);
