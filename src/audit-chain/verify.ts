import type { KeyObject } from "node:crypto";
import { checkpointKey, readCheckpoint, type SignedCheckpoint } from "./checkpoint.ts";
import { type ExportLine, parseLine } from "./export.ts";
import { GENESIS, type Link, link } from "./link.ts";

/** What is wrong, in a fixed word. */
export type FaultKind =
  | "malformed"
  | "record_missing"
  | "record_out_of_order"
  | "record_altered"
  | "key_untrusted"
  | "checkpoint_forged"
  | "checkpoint_contradicts"
  | "unsigned";

/** The first thing that is wrong with an export. */
export interface Fault {
  readonly kind: FaultKind;
  /** The line of the export, from 1. */
  readonly line: number;
  /** Where in the chain: the first record that is not what was sealed, or that nothing vouches for. */
  readonly seq: number;
  /** The id of that record, where it has one. */
  readonly recordId?: string;
}

/** What an export proves. */
export interface Proof {
  readonly first: number;
  readonly last: number;
  readonly records: number;
  readonly checkpoints: number;
  /** The last record that a signature vouches for; what follows it could have been cut off without a trace. */
  readonly signedTo: number;
  /** Whether what stands before the first record is vouched for: the beginning of every chain is, and what a checkpoint says. */
  readonly anchored: boolean;
}

export type Verdict = { readonly kind: "sound"; readonly proof: Proof } | { readonly kind: "unsound"; readonly fault: Fault };

export interface Verification {
  /** Looks at the next line. @returns the fault, as soon as there is one */
  take(text: string): Fault | undefined;
  /** No more lines come. */
  end(): Verdict;
}

/**
 * Verifies an export line by line; needs nothing but its lines. Every record must follow from the one before it, and every checkpoint must
 * be signed and say what the records say.
 * @param trusted ids (RFC 7638 thumbprints) of the keys that may sign; when left out, those that the export brings along
 */
export function verification(trusted?: ReadonlySet<string>): Verification {
  const keys = new Map<string, KeyObject>();
  let lines = 0;
  let start: Link | undefined;
  let last: Link = GENESIS;
  let signedTo = 0;
  let anchored = false;
  let checkpoints = 0;
  let found: Fault | undefined;

  const fault = (kind: FaultKind, seq: number, recordId?: string): Fault => ({
    kind,
    line: lines,
    seq,
    ...(recordId !== undefined && { recordId }),
  });

  function takeHeader(line: ExportLine): Fault | undefined {
    if (line.type !== "header") return fault("malformed", 1);
    start = last = { seq: line.after, hash: line.previous };
    signedTo = start.seq;
    anchored = start.hash === GENESIS.hash; // everybody knows how a chain begins
    return anchored === (start.seq === 0) ? undefined : fault("record_altered", start.seq + 1);
  }

  function takeKey(jwk: Readonly<Record<string, unknown>>): undefined {
    const known = checkpointKey(jwk); // RSA keys of ID tokens come along and sign nothing here
    if (known !== undefined && trusted?.has(known.kid) !== false) keys.set(known.kid, known.key);
  }

  function takeRecord({ seq, hash, record }: Extract<ExportLine, { type: "record" }>): Fault | undefined {
    const recordId = typeof record.id === "string" ? record.id : undefined;
    if (seq > last.seq + 1) return fault("record_missing", last.seq + 1);
    if (seq <= last.seq) return fault("record_out_of_order", seq, recordId);
    const expected = link(last, record);
    if (expected.hash !== hash) return fault("record_altered", seq, recordId);
    last = expected;
    return undefined;
  }

  function takeCheckpoint({ seq, jws }: SignedCheckpoint): Fault | undefined {
    const unvouched = signedTo + 1;
    if (seq > last.seq) return fault("record_missing", last.seq + 1);
    const read = readCheckpoint(jws, keys);
    if (read === "unknown_key") return fault("key_untrusted", unvouched);
    if (typeof read === "string") return fault("checkpoint_forged", unvouched);
    // Somebody who could rewrite every hash could not sign: what lies between the last good signature and this one is not what was sealed.
    if (read.seq !== seq || seq !== last.seq || read.hash !== last.hash) return fault("checkpoint_contradicts", unvouched);
    signedTo = seq;
    anchored ||= seq === start?.seq;
    checkpoints += 1;
    return undefined;
  }

  function judge(text: string): Fault | undefined {
    const line = parseLine(text);
    if (line === undefined) return fault("malformed", last.seq + 1);
    if (start === undefined) return takeHeader(line);
    switch (line.type) {
      case "header":
        return fault("malformed", last.seq + 1);
      case "key":
        return takeKey(line.jwk);
      case "record":
        return takeRecord(line);
      case "checkpoint":
        return takeCheckpoint(line);
    }
  }

  return {
    take(text) {
      lines += 1;
      found ??= judge(text);
      return found;
    },
    end() {
      const first = (start?.seq ?? 0) + 1;
      if (found === undefined && start === undefined) found = fault("malformed", 1);
      if (found === undefined && checkpoints === 0 && last.seq >= first) found = fault("unsigned", first);
      if (found !== undefined) return { kind: "unsound", fault: found };
      return { kind: "sound", proof: { first, last: last.seq, records: last.seq - first + 1, checkpoints, signedTo, anchored } };
    },
  };
}
