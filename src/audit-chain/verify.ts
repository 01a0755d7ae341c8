import type { KeyObject } from "node:crypto";
import { checkpointKey, GENESIS, type Link, link, readCheckpoint, type SignedCheckpoint } from "./chain.ts";
import type { ExportLine } from "./export.ts";
import { parseLine } from "./export-file.ts";

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
  /** Line number, from 1. */
  readonly line: number;
  /** The first record that was altered, or that no signature covers. */
  readonly seq: number;
  readonly recordId?: string;
}

export interface Proof {
  readonly first: number;
  readonly last: number;
  readonly records: number;
  readonly checkpoints: number;
  /** The last signed record. Records after it could have been cut off without a trace. */
  readonly signedTo: number;
  /** Whether the link before the first record is the genesis link or signed by a checkpoint. */
  readonly anchored: boolean;
}

export type Verdict = { readonly kind: "sound"; readonly proof: Proof } | { readonly kind: "unsound"; readonly fault: Fault };

interface State {
  readonly trusted: ReadonlySet<string> | undefined;
  readonly keys: Map<string, KeyObject>;
  lines: number;
  start: Link | undefined;
  last: Link;
  signedTo: number;
  anchored: boolean;
  checkpoints: number;
}

const faultAt = ({ lines }: State, kind: FaultKind, seq: number, recordId?: string): Fault => ({
  kind,
  line: lines,
  seq,
  ...(recordId !== undefined && { recordId }),
});

function takeHeader(state: State, line: ExportLine): Fault | undefined {
  if (line.type !== "header") return faultAt(state, "malformed", 1);
  state.start = state.last = { seq: line.after, hash: line.previous };
  state.signedTo = line.after;
  state.anchored = line.previous === GENESIS.hash;
  return state.anchored === (line.after === 0) ? undefined : faultAt(state, "record_altered", line.after + 1);
}

function takeKey({ keys, trusted }: State, jwk: Readonly<Record<string, unknown>>): undefined {
  const found = checkpointKey(jwk); // exports hold the RSA keys of ID tokens too, which sign no checkpoint
  if (found !== undefined && trusted?.has(found.kid) !== false) keys.set(found.kid, found.key);
}

function takeRecord(state: State, { seq, hash, record }: Extract<ExportLine, { type: "record" }>): Fault | undefined {
  const { last } = state;
  const recordId = typeof record.id === "string" ? record.id : undefined;
  if (seq > last.seq + 1) return faultAt(state, "record_missing", last.seq + 1);
  if (seq <= last.seq) return faultAt(state, "record_out_of_order", seq, recordId);
  const expected = link(last, record);
  if (expected.hash !== hash) return faultAt(state, "record_altered", seq, recordId);
  state.last = expected;
  return undefined;
}

function takeCheckpoint(state: State, { seq, jws }: SignedCheckpoint): Fault | undefined {
  const { last } = state;
  const unsigned = state.signedTo + 1;
  if (seq > last.seq) return faultAt(state, "record_missing", last.seq + 1);
  const read = readCheckpoint(jws, state.keys);
  if (read === "unknown_key") return faultAt(state, "key_untrusted", unsigned);
  if (typeof read === "string") return faultAt(state, "checkpoint_forged", unsigned);
  // An attacker can rewrite every hash but cannot sign: the records between the last valid signature and this one were altered.
  if (read.seq !== seq || seq !== last.seq || read.hash !== last.hash) return faultAt(state, "checkpoint_contradicts", unsigned);
  state.signedTo = seq;
  state.anchored ||= seq === state.start?.seq;
  state.checkpoints += 1;
  return undefined;
}

function takeLine(state: State, text: string): Fault | undefined {
  const line = parseLine(text);
  if (line === undefined) return faultAt(state, "malformed", state.last.seq + 1);
  if (state.start === undefined) return takeHeader(state, line);
  switch (line.type) {
    case "header":
      return faultAt(state, "malformed", state.last.seq + 1);
    case "key":
      return takeKey(state, line.jwk);
    case "record":
      return takeRecord(state, line);
    case "checkpoint":
      return takeCheckpoint(state, line);
  }
}

/**
 * Verifies an export line by line: each record must follow from the one before it, each checkpoint must be signed and match the records.
 * @param trusted thumbprints (RFC 7638) of the keys that may sign; when left out, the keys in the export
 */
export function verification(trusted?: ReadonlySet<string>) {
  const counts = { lines: 0, signedTo: 0, checkpoints: 0 };
  const state: State = { trusted, keys: new Map(), start: undefined, last: GENESIS, anchored: false, ...counts };
  let found: Fault | undefined;
  return {
    /** Verifies the next line. @returns the first fault so far */
    take(text: string): Fault | undefined {
      state.lines += 1;
      found ??= takeLine(state, text);
      return found;
    },
    end(): Verdict {
      const { start, last, checkpoints, signedTo, anchored } = state;
      const first = (start?.seq ?? 0) + 1;
      if (found === undefined && start === undefined) found = faultAt(state, "malformed", 1);
      if (found === undefined && checkpoints === 0 && last.seq >= first) found = faultAt(state, "unsigned", first);
      if (found !== undefined) return { kind: "unsound", fault: found };
      return { kind: "sound", proof: { first, last: last.seq, records: last.seq - first + 1, checkpoints, signedTo, anchored } };
    },
  };
}

/**
 * How much of the log an export must hold. The verifier sets it, for the author of an export may have cut it.
 * `after`: the record before the first; default: the chain's start, and at least one record. `atLeast`: signed up to this record.
 */
export type Extent = { readonly after?: number; readonly atLeast?: number };

export type Shortfall = "begins_elsewhere" | "no_records" | "falls_short";

/** What a sound export lacks. Pure. */
export function shortfallOf({ first, records, signedTo }: Proof, { after, atLeast = 0 }: Extent): Shortfall | undefined {
  if (first !== (after ?? 0) + 1) return "begins_elsewhere";
  if (records === 0 && after === undefined) return "no_records";
  return signedTo < atLeast ? "falls_short" : undefined;
}
