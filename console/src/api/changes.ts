import { useState } from "react";

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

/**
 * The fields of a form over a record. Those that the user has not changed follow the record when it is read again; the others keep what was
 * typed.
 */
export function useEdits<Fields extends object>(record: Fields) {
  const [edits, setEdits] = useState<Partial<Fields>>({});
  return {
    fields: { ...record, ...edits },
    edit: (some: Partial<Fields>): void => setEdits((before) => ({ ...before, ...some })),
    /** Lets fields that were saved follow the record again, unless they have been changed since they were sent. */
    settle: (sent: Fields): void =>
      setEdits(
        (before) =>
          Object.fromEntries(Object.entries(before).filter(([name, value]) => value !== sent[name as keyof Fields])) as Partial<Fields>,
      ),
  };
}
