/** One challenge of a `WWW-Authenticate` header: the scheme in lower case, and its parameters by their names in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const PARAMETER = new RegExp(`\\s*,?\\s*(${TOKEN})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|(${TOKEN}))\\s*(?=,|$)`, "y");
const SCHEME = new RegExp(`[\\s,]*(${TOKEN})(?:\\s+|(?=,|$))`, "y");
const TOKEN68 = /[A-Za-z0-9._~+/-]+=*\s*(?=,|$)/y;

/** The challenges of a header, up to the first that is malformed. @see RFC 9110 §11.6.1 */
export function parseChallenges(header: string | null): readonly Challenge[] {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(header ?? "");
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  for (;;) {
    const current = challenges.at(-1);
    const parameter = current && next(PARAMETER);
    if (parameter) {
      const [, name = "", quoted, plain = ""] = parameter;
      const key = name.toLowerCase();
      if (!current.parameters.has(key)) current.parameters.set(key, quoted?.replaceAll(/\\(.)/g, "$1") ?? plain);
      continue;
    }
    if (current?.parameters.size === 0) next(TOKEN68);
    const scheme = next(SCHEME)?.[1];
    if (scheme === undefined) return challenges;
    challenges.push({ scheme: scheme.toLowerCase(), parameters: new Map() });
  }
}
