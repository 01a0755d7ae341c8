/**
 * Where a person was going when she was sent to sign in, to sign up or to her mail: an application's request that waits, or a page of her
 * own.
 */
export interface ReturnTo {
  readonly requestId?: string | undefined;
  /** The path of one of her own pages, other than the first. */
  readonly next?: string | undefined;
}

/** The members of a query or a form that carry it on. Pure. */
export function returnToMembers({ requestId, next }: ReturnTo): readonly (readonly [name: string, value: string])[] {
  if (requestId !== undefined) return [["request", requestId]];
  return next === undefined ? [] : [["next", next]];
}
