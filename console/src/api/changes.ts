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
  /** What it has now was saved; the record has not been read since, or could not be. */
  readonly isSaved?: true;
}

type Edits = Readonly<Record<string, Edit>>;

/** Whether a field follows its record: also one that was turned over and back, and a saved one whose record was read again. */
const isFollowing = ({ from, to, isSaved }: Edit, now: unknown): boolean => to === from || (isSaved === true && now !== from);

/** The edits after fields were saved. A field that was changed since it was sent, were it to what it had before, is still to be saved. Pure. */
const afterSaving = (edits: Edits, sent: object): Edits =>
  Object.fromEntries(
    Object.entries(edits).map(([name, { from, to }]) => {
      const value: unknown = sent[name as keyof typeof sent];
      return [name, to === value ? ({ from, to, isSaved: true } as const) : { from: value, to }];
    }),
  );

/** The names of the members that are texts. */
type TextsOf<Fields> = { [Name in keyof Fields]: Fields[Name] extends string ? Name : never }[keyof Fields];

/**
 * The fields of a form over a record. Those that the user has not changed follow the record when it is read again; the others keep what was
 * typed.
 */
export function useEdits<Fields extends object>(record: Fields) {
  const [edits, setEdits] = useState<Edits>({});
  const nowOf = (name: string): unknown => record[name as keyof Fields];
  const withEdits = (side: "from" | "to"): Fields => ({
    ...record,
    ...Object.fromEntries(
      Object.entries(edits).map(([name, edit]) => [
        name,
        isFollowing(edit, nowOf(name)) ? nowOf(name) : edit.isSaved ? edit.to : edit[side],
      ]),
    ),
  });
  const begun = withEdits("from");
  const fields = withEdits("to");
  const edit = (some: Partial<Fields>): void =>
    setEdits((before) => {
      const fromOf = (name: string): unknown => {
        const earlier = before[name];
        return earlier === undefined || earlier.isSaved || isFollowing(earlier, nowOf(name)) ? begun[name as keyof Fields] : earlier.from;
      };
      return { ...before, ...Object.fromEntries(Object.entries(some).map(([name, to]) => [name, { from: fromOf(name), to }])) };
    });
  const isOver = ([name, edit]: [string, Edit]): boolean => isFollowing(edit, nowOf(name)) && edit.from !== nowOf(name);
  if (Object.entries(edits).some(isOver)) setEdits((before) => Object.fromEntries(Object.entries(before).filter((each) => !isOver(each))));
  return {
    fields,
    /** What each field had when the user began to change it. */
    begun,
    edit,
    /** The value of a text field, and what changes it. */
    text: (name: TextsOf<Fields>) => ({
      value: fields[name] as string,
      onChange: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }): void =>
        edit({ [name]: value } as Partial<Fields>), // a name of Fields, for which there is a text
    }),
    /**
     * Before fields are sent: what others have made of the same ones is shown first, and may be replaced then.
     * @param now fields as the record has them  @throws {ChangedSince}
     */
    assertUnchanged(sent: Fields, now: Partial<Fields>): void {
      const others = Object.entries(now).filter(([name, value]) => {
        const edit = edits[name];
        const isEdited = edit !== undefined && !edit.isSaved && !isFollowing(edit, nowOf(name));
        return isEdited && value !== edit.from && value !== sent[name as keyof Fields];
      });
      if (others.length === 0) return;
      setEdits((before) => ({ ...before, ...Object.fromEntries(others.map(([name, from]) => [name, { to: before[name]?.to, from }])) }));
      throw new ChangedSince(T.failure.changedSince(others.map(([, value]) => shownValue(value)).join(", ")));
    },
    /** Lets fields that were saved follow the record again once it is read again, unless they have been changed since they were sent. */
    settle: (sent: Fields): void => setEdits((before) => afterSaving(before, sent)),
  };
}
