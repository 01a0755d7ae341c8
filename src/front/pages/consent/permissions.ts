import type { ShownRecord } from "../../../resources/ports.ts";

/** Scopes that stand together, and the resource whose record offers them; undefined for those of no resource. */
export interface PermissionGroup {
  readonly resource: string | undefined;
  readonly scopes: readonly string[];
}

/**
 * Scopes by the resources that offer them. With one resource or none they are one group, for then all of them are for it. Pure.
 * @param records of the resources
 */
export function permissionGroups(
  scopes: readonly string[],
  resources: readonly string[],
  records: readonly Pick<ShownRecord, "resource" | "scopes">[],
): readonly PermissionGroup[] {
  const resourceOf = (scope: string) => records.find((record) => record.scopes.some(({ name }) => name === scope))?.resource;
  const groups = Map.groupBy(scopes, (scope) => (resources.length < 2 ? undefined : resourceOf(scope)));
  return [undefined, ...resources].flatMap((resource) => {
    const own = groups.get(resource) ?? [];
    return own.length === 0 ? [] : [{ resource, scopes: own }];
  });
}

/** Scopes without `offline_access`, which the duration of the access says already, unless it is the only one. Pure. */
export function withoutLasting(scopes: readonly string[]): readonly string[] {
  const others = scopes.filter((scope) => scope !== "offline_access");
  return others.length > 0 ? others : scopes;
}
