import { SETTING_NAMES, type SettingName } from "./settings.ts";

/** Names that begin so are ours: nobody else has a reason to set them for this process. */
const PREFIXES = [
  "ACCESS_TOKEN_",
  "AUTHORIZATION_CODE_",
  "CIMD_",
  "CLIENT_ASSERTION_",
  "COUNTERSIGN_",
  "DEFAULT_CLIENT_",
  "DEFAULT_DYNAMIC_",
  "DYNAMIC_CLIENT_",
  "GRPC_",
  "HYBRID_SIGNING_",
  "ID_JAG_",
  "ID_TOKEN_",
  "JWT_",
  "PQC_",
  "REFRESH_TOKEN_",
  "REGISTER_CLIENT_",
  "SIGN_UP_",
  "TOKEN_CORE_",
  "WALLET_CLIENT_ID_",
  "WALLET_CREDENTIAL_",
  "WALLET_FEDERATION_",
  "WALLET_ISSUER_",
  "WALLET_SUBJECT_",
  "WALLET_TRUSTED_",
  "WALLET_VERIFIER_",
];

/** Settings of the gRPC library itself, and what an orchestrator injects for each service that it knows by name. */
const FOREIGN =
  /^GRPC_(VERBOSITY|TRACE|NODE_|SSL_|DEFAULT_SSL_|DNS_|EXPERIMENTAL_|XDS_)|_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?$/;

/** What the examples set for themselves, often in the shell from which the server is started next. */
const OF_EXAMPLES: ReadonlySet<string> = new Set(["GRPC_ADDRESS", "GRPC_PLAINTEXT"]);

/** Edits (insert, delete, replace, swap of neighbours) that turn one name into the other. */
export function distance(a: string, b: string): number {
  let older: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const at = (line: number[], k: number) => line[k] ?? Number.POSITIVE_INFINITY;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(previous, j) + 1,
          at(row, j - 1) + 1,
          at(previous, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
          swapped ? at(older, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    older = previous;
    previous = row;
  }
  return previous[b.length] ?? a.length;
}

/** How far a name may be off and still be taken for a slip. Short names have innocent neighbours: HOME and HOST are two edits apart. */
const slip = (name: SettingName) => (name.length > 8 ? 2 : 1);

const nearest = (name: string, reach: (known: SettingName) => number) =>
  SETTING_NAMES.map((known) => ({ known, off: distance(name, known) }))
    .filter(({ known, off }) => off <= reach(known))
    .sort((a, b) => a.off - b.off)[0]?.known;

/**
 * Names in the environment that were meant for us and are no setting: they bear one of our prefixes or are a close misspelling.
 * @returns each with the setting that was probably meant, where there is one
 */
export function unknownSettings(names: readonly string[]): { name: string; meant: SettingName | undefined }[] {
  return names.flatMap((name) => {
    const upper = name.toUpperCase();
    if (SETTING_NAMES.some((known) => known === name) || FOREIGN.test(upper) || OF_EXAMPLES.has(name)) return [];
    const slipped = nearest(upper, slip);
    if (slipped !== undefined && (upper !== slipped || slipped.length > 8)) return [{ name, meant: slipped }];
    // With our prefix it is a fault in any case, so a bolder guess does no harm.
    if (PREFIXES.some((prefix) => upper.startsWith(prefix)))
      return [{ name, meant: nearest(upper, (known) => Math.ceil(known.length / 3)) }];
    return [];
  });
}
