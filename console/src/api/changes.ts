import { useState } from "react";
import { T } from "../texts/texts.ts";

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

/** A list with what its editor has added and taken away, and what others have since that began. Pure. */
export function mergedList(begun: readonly string[], edited: readonly string[], now: readonly string[]): string[] {
  if (JSON.stringify(begun) === JSON.stringify(now)) return [...edited]; // in its order, too
  const isAdded = (each: string): boolean => !begun.includes(each);
  return [...new Set([...now.filter((each) => edited.includes(each) || isAdded(each)), ...edited.filter(isAdded)])];
}

const shownValue = (value: unknown): string => (value === null || value === "" ? T.common.none : String(value));

/** Somebody else has changed what the user has changed: nothing was sent. */
export class ChangedSince extends Error {}

/** A field that the user has changed: what it had before, and what it has now. */
interface Edit {
  readonly from: unknown;
  readonly to: unknown;
}

/**
 * The fields of a form over a record. Those that the user has not changed follow the record when it is read again; the others keep what was
 * typed.
 */
export function useEdits<Fields extends object>(record: Fields) {
  const [edits, setEdits] = useState<Readonly<Record<string, Edit>>>({});
  const withEdits = (side: keyof Edit): Fields => ({
    ...record,
    ...Object.fromEntries(Object.entries(edits).map(([name, edit]) => [name, edit[side]])),
  });
  return {
    fields: withEdits("to"),
    /** What each field had when the user began to change it. */
    begun: withEdits("from"),
    edit: (some: Partial<Fields>): void =>
      setEdits((before) => {
        const changed = Object.entries(some).map(([name, to]) => [name, { from: record[name as keyof Fields], ...before[name], to }]);
        // A switch that was turned over and back follows the record again.
        return Object.fromEntries(
          Object.entries<Edit>({ ...before, ...Object.fromEntries(changed) }).filter(([, { from, to }]) => to !== from),
        );
      }),
    /**
     * Before fields are sent: what others have made of the same ones is shown first, and may be replaced then.
     * @param now fields as the record has them  @throws {ChangedSince}
     */
    assertUnchanged(sent: Fields, now: Partial<Fields>): void {
      const others = Object.entries(now).filter(([name, value]) => {
        const edit = edits[name];
        return edit !== undefined && value !== edit.from && value !== sent[name as keyof Fields];
      });
      if (others.length === 0) return;
      setEdits((before) => ({ ...before, ...Object.fromEntries(others.map(([name, from]) => [name, { to: before[name]?.to, from }])) }));
      throw new ChangedSince(T.failure.changedSince(others.map(([, value]) => shownValue(value)).join(", ")));
    },
    /** Lets fields that were saved follow the record again, unless they have been changed since they were sent. */
    settle: (sent: Fields): void =>
      setEdits((before) => {
        const later = Object.entries(before).filter(([name, { to }]) => to !== sent[name as keyof Fields]);
        return Object.fromEntries(later.map(([name, { to }]) => [name, { from: sent[name as keyof Fields], to }]));
      }),
  };
}
