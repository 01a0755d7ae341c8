/** The accepted values of an option: a test, and their description for error messages. */
export interface Kind {
  readonly takes: string;
  readonly fits: (value: unknown) => boolean;
  readonly needed?: boolean;
}

/** Every option that an entry takes, and what it may be. */
export type OptionTable<Options> = { readonly [Name in keyof Required<Options>]: Kind };

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isFunction = (value: unknown): value is object => typeof value === "function";

export const TEXT: Kind = { takes: "a string that is not empty", fits: isText };
export const NUMBER: Kind = { takes: "a number", fits: (value) => typeof value === "number" };
export const FUNCTION: Kind = { takes: "a function", fits: isFunction };
export const VERIFICATION: Kind = { takes: "what introspection(…), grpcIntrospection(…) or the like returned", fits: isFunction };
/** The entries are checked elsewhere. */
export const TEXTS: Kind = {
  takes: "an array of strings",
  fits: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
};

/** Its members are checked elsewhere. */
export const OBJECT: Kind = { takes: "an object", fits: (value) => isRecord(value) };

/** @param least @param most both may be given */
export const between = (least: number, most: number): Kind => ({
  takes: `a number from ${least} to ${most}`,
  fits: (value) => typeof value === "number" && value >= least && value <= most,
});

const CERTIFICATE = /-----BEGIN CERTIFICATE-----\s+[A-Za-z0-9+/][A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/;
export const CERTIFICATES: Kind = {
  takes: "PEM text with at least one certificate",
  fits: (value) => isText(value) && CERTIFICATE.test(value),
};

/** A shorter secret could be guessed from a nonce. */
export const NONCE_SECRET: Kind = {
  takes: "true or a secret of at least 32 characters",
  fits: (value) => value === true || (isText(value) && value.length >= 32),
};

export const needed = (kind: Kind): Kind => ({ ...kind, needed: true });

export const oneOf = (...words: readonly string[]): Kind => ({
  takes: words.map((word) => JSON.stringify(word)).join(" or "),
  fits: (value) => words.some((word) => word === value),
});

/** An object, of which at least these members are functions. */
export const having = (...methods: readonly string[]): Kind => ({
  takes: `an object with ${methods.join(", ")}`,
  fits: (value) => (isRecord(value) || isFunction(value)) && methods.every((method) => isFunction(Reflect.get(value, method))),
});

export const CLOCKS = having("now", "elapsed");

/**
 * Refuses options that would be overlooked or misread: an unknown name, a value of another kind, none where one is needed. An option that is
 * undefined is one that was not given. The values themselves, which may be secrets, are in no message.
 * @param entry the function whose options they are
 * @throws {TypeError} that names the option and what it takes
 */
export function assertOptions<Options extends object>(entry: string, options: Options, table: OptionTable<Options>): void {
  if (!isRecord(options)) throw new TypeError(`${entry} takes its options as one object: ${Object.keys(table).join(", ")}`);
  const kinds = new Map<string, Kind>(Object.entries(table));
  for (const name of Object.keys(options)) {
    if (!kinds.has(name)) throw new TypeError(`${entry} has no option ${JSON.stringify(name)}; it takes ${[...kinds.keys()].join(", ")}`);
  }
  for (const [name, kind] of kinds) assertKind(`${name} of ${entry}`, options[name], kind);
}

/** The same for one value. @param what names it  @throws {TypeError} */
export function assertKind(what: string, value: unknown, { takes, fits, needed = false }: Kind): void {
  if (value === undefined ? needed : !fits(value))
    throw new TypeError(`${what} must be ${takes}${value === undefined ? ", and is missing" : ""}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
