import { hash } from "node:crypto";

/** A JSON value; numbers in sealed records are whole. */
export type Sealable = string | number | boolean | null | readonly Sealable[] | { readonly [member: string]: Sealable | undefined };

/** A record as it is sealed, with every member that it has, whichever release added it. */
export type SealedRecord = { readonly [member: string]: Sealable | undefined };

/** A record's place in the chain: `seq` counts from 1 without gaps; `hash` is a SHA-256, base64url without padding. */
export type Link = { readonly seq: number; readonly hash: string };

/** Domain separation for the hashes. A change of the encoding changes this text. */
const DOMAIN = "countersign audit record v1";

const sha256 = (text: string): string => hash("sha256", text, "base64url");

/** The link before record 1, the same for every chain. */
export const GENESIS: Link = { seq: 0, hash: sha256("countersign audit chain v1") };

/** The canonical JSON of a value. @see RFC 8785 §3.2, limited to strings, whole numbers, lists and objects */
export function canonical(value: Sealable): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonical).join(",")}]`;
  let members = "";
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${canonical(member)}`;
  }
  return `{${members}}`;
}

// Array.isArray does not narrow a readonly list away.
const isList = (value: object): value is readonly Sealable[] => Array.isArray(value);

/** The next link. Its hash covers this record and every one before it. */
export function link(previous: Link, record: SealedRecord): Link {
  const seq = previous.seq + 1;
  return { seq, hash: sha256(`${DOMAIN}\n${seq}\n${previous.hash}\n${canonical(record)}`) };
}

export function linkAll(previous: Link, records: readonly SealedRecord[]): readonly Link[] {
  let last = previous;
  return records.map((record) => {
    last = link(last, record);
    return last;
  });
}
