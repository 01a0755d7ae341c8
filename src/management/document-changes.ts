import { milliseconds } from "../clock.ts";
import type { DocumentVersion } from "./client-ports.ts";

type Members = Readonly<Record<string, unknown>>;

/** A member by which a document differs from the one before; it lacks `before` or `after` where that document lacks the member. */
export interface DocumentChange {
  readonly member: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

const membersOf = (document: string): Members => JSON.parse(document) as Members; // stored ones are objects

/** The members by which two documents differ, in the order of their names. Pure. */
export function documentChanges(before: string, after: string): readonly DocumentChange[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  const members = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
  return members
    .filter((member) => JSON.stringify(old[member]) !== JSON.stringify(now[member]))
    .map((member) => ({
      member,
      ...(Object.hasOwn(old, member) && { before: old[member] }),
      ...(Object.hasOwn(now, member) && { after: now[member] }),
    }));
}

/** Versions, the newest first, each with its changes to the one before and the time at which the next one took its place. Pure. */
export const documentsView = (versions: readonly DocumentVersion[]) =>
  versions.map(({ createdAt, seenAt, ...version }, index) => {
    const [next, previous] = [versions[index - 1], versions[index + 1]];
    return {
      ...version,
      from: milliseconds(createdAt),
      /** Null for the newest. */
      until: next === undefined ? null : milliseconds(next.createdAt),
      lastFetchedAt: milliseconds(seenAt),
      changes: previous === undefined ? [] : documentChanges(previous.document, version.document),
    };
  });
