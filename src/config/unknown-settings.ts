import { distance } from "fastest-levenshtein";
import { SETTING_NAMES, type SettingName } from "./settings.ts";

/** First words of settings that other software does not use for its variables. */
const OWN_FIRST_WORDS = ["CIMD", "COUNTERSIGN", "GRPC", "JWT", "PQC"];

/** A name that begins like a setting is meant as one. */
const PREFIXES = [
  ...OWN_FIRST_WORDS.map((word) => `${word}_`),
  ...new Set(SETTING_NAMES.flatMap((name) => /^[A-Z]+_[A-Z]+_/.exec(name)?.[0] ?? [])),
];

/** Variables of OpenTelemetry and of the gRPC library, and those that Docker and Kubernetes set for every service that they know by name. */
const THIRD_PARTY =
  /^OTEL_|^GRPC_(PROXY$|VERBOSITY|TRACE|NODE_|SSL_|DEFAULT_SSL_|DNS_|EXPERIMENTAL_|XDS_)|_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?$/;

/** Whether Docker or Kubernetes set `X_PORT` for a service: then `X_PORT_3000_TCP` or a like name stands beside it. */
const isPortOfService = (name: string, names: readonly string[]): boolean =>
  name.endsWith("_PORT") && names.some((other) => other.startsWith(`${name}_`) && THIRD_PARTY.test(other));

/** Variables of the examples, which are often run from the same shell. */
const EXAMPLES: ReadonlySet<string> = new Set(["GRPC_ADDRESS", "GRPC_PLAINTEXT"]);

/** Whether two names differ only in the order of two neighbours. */
function isSwap(a: string, b: string): boolean {
  const at = [...a].findIndex((letter, index) => letter !== b[index]);
  return a.length === b.length && a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
}

/** The edit distance of two names. A swap of neighbours counts as one edit if it is the only one. */
export const editsBetween = (a: string, b: string): number => (a !== b && isSwap(a, b) ? 1 : distance(a, b));

/** Edits that count as a misspelling. Short names have innocent neighbours: HOME and HOST are two edits apart. */
const maxTypos = (name: SettingName): number => (name.length > 8 ? 2 : 1);

/** The setting with the fewest edits. Lengths are compared first: to compare all names took a twelfth of a command's CPU. */
const nearest = (name: string, maxEdits: (setting: SettingName) => number): SettingName | undefined =>
  SETTING_NAMES.filter((setting) => Math.abs(name.length - setting.length) <= maxEdits(setting))
    .map((setting) => ({ setting, edits: editsBetween(name, setting) }))
    .filter(({ setting, edits }) => edits <= maxEdits(setting))
    .sort((a, b) => a.edits - b.edits)[0]?.setting;

/** Misspelled settings, and unknown names that begin like one, each with the setting that was probably meant. */
export function unknownSettings(names: readonly string[]): { name: string; meant: SettingName | undefined }[] {
  return names.flatMap((name) => {
    const upper = name.toUpperCase();
    if (SETTING_NAMES.some((setting) => setting === name) || THIRD_PARTY.test(upper) || EXAMPLES.has(name)) return [];
    if (isPortOfService(name, names)) return [];
    const misspelt = nearest(upper, maxTypos);
    if (misspelt !== undefined && (upper !== misspelt || misspelt.length > 8)) return [{ name, meant: misspelt }];
    // The prefix alone makes it a fault, so the guess may be far off.
    if (PREFIXES.some((prefix) => upper.startsWith(prefix)))
      return [{ name, meant: nearest(upper, (setting) => Math.ceil(setting.length / 3)) }];
    return [];
  });
}
