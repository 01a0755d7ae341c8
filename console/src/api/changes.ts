/**
 * The members of a form that differ from the record it was filled from: to save the others would undo what somebody else has changed since.
 * Pure.
 */
export const changesTo = <Members extends object>(
  record: { readonly [Name in keyof Members]: unknown },
  members: Members,
): Partial<Members> =>
  Object.fromEntries(
    Object.entries(members).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(record[name as keyof Members])),
  ) as Partial<Members>; // some members of the same names

/** Sends changes, if there are any. */
export const sendChanges = async <Changes extends object>(
  changes: Changes,
  send: (changes: Changes) => Promise<unknown>,
): Promise<void> => {
  if (Object.keys(changes).length > 0) await send(changes);
};
