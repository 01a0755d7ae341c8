/** An object with the members of a change that are not undefined. Pure. */
export const merged = <Members extends object>(
  members: Members,
  change: { readonly [Member in keyof Members]?: Members[Member] | undefined },
): Members => ({ ...members, ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) });
