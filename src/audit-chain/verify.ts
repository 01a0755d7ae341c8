import type { KeyObject } from "node:crypto";
import { checkpointKey, readCheckpoint, type SignedCheckpoint } from "./checkpoint.ts";
import { type ExportLine, parseLine } from "./export.ts";
import { GENESIS, type Link, link } from "./link.ts";

/** What is wrong with an export. */
export type FaultKind =
  | "malformed"
  | "record_missing"
  | "record_out_of_order"
  | "record_altered"
  | "key_untrusted"
  | "checkpoint_forged"
  | "checkpoint_contradicts"
  | "unsigned";

/** The first fault of an export. */
export interface Fault {
  readonly kind: FaultKind;
  /** The line of the export, from 1. */
  readonly line: number;
  /** The first record that is not what was sealed, or that no signature covers. */
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
  /** The last record that a signature covers. Records after it could have been cut off without a trace. */
  readonly signedTo: number;
  /** Whether the link before the first record is certain: it is the genesis link, or signed by a checkpoint. */
  readonly anchored: boolean;
}

export type Verdict = { readonly kind: "sound"; readonly proof: Proof } | { readonly kind: "unsound"; readonly fault: Fault };

export interface Verification {
  /** Checks the next line. @returns the first fault, if there has been one */
  take(text: string): Fault | undefined;
  /** Call after the last line. */
  end(): Verdict;
}

/**
 * Verifies an export line by line, from its lines alone. Every record must follow from the one before it, and every checkpoint must be signed
 * and match the records.
 * @param trusted ids (RFC 7638 thumbprints) of the keys that may sign; when left out, the keys in the export
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
    anchored = start.hash === GENESIS.hash; // the genesis link is the same for every chain
    return anchored === (start.seq === 0) ? undefined : fault("record_altered", start.seq + 1);
  }

  function takeKey(jwk: Readonly<Record<string, unknown>>): undefined {
    const found = checkpointKey(jwk); // exports hold the RSA keys of ID tokens too, which sign no checkpoint
    if (found !== undefined && trusted?.has(found.kid) !== false) keys.set(found.kid, found.key);
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
    const unsigned = signedTo + 1;
    if (seq > last.seq) return fault("record_missing", last.seq + 1);
    const read = readCheckpoint(jws, keys);
    if (read === "unknown_key") return fault("key_untrusted", unsigned);
    if (typeof read === "string") return fault("checkpoint_forged", unsigned);
    // An attacker can rewrite every hash but cannot sign: the records between the last valid signature and this one are not what was sealed.
    if (read.seq !== seq || seq !== last.seq || read.hash !== last.hash) return fault("checkpoint_contradicts", unsigned);
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
