/** Why PostgreSQL cannot be used, and what to do. For terminals: no value of the setting is in it. */
export interface DatabaseFault {
  readonly what: string;
  readonly remedy: string;
}

export const UNANSWERED: DatabaseFault = {
  what: "the database does not answer",
  remedy: "see that it runs, and that address, user and password are right",
};

type Faulty = Partial<Record<"code" | "message" | "path" | "routine", unknown>>;

/** By what the driver throws: a SQLSTATE, an error code of Node, or a message of its own. PgBouncer gives all faults one SQLSTATE. */
const FAULTS: readonly (readonly [is: (error: Faulty) => boolean, fault: DatabaseFault])[] = [
  [
    ({ message }) => /^unsupported startup parameter/.test(String(message)),
    {
      what: "a pooler answers, and refuses what the server asks of its own connections",
      remedy: "set DATABASE_POOLER=transaction and the pooler as docs/production.md says, or name PostgreSQL itself",
    },
  ],
  [
    ({ code, message }) => code === "3D000" || /^no such database/.test(String(message)),
    { what: "the database that it names does not exist", remedy: "create it, or name another one" },
  ],
  [
    // The migration tooling looks for its table in `public`, and then misses it where the search path leads.
    ({ code, message }) => code === "3F000" || (code === "42P01" && /"schema_migrations"/.test(String(message))),
    {
      what: "the search_path of the user leads to no schema, or to another one than before",
      remedy: "create the schema, or set search_path for the role",
    },
  ],
  [
    ({ code }) => code === "25006",
    { what: "the database takes no writes", remedy: "name the primary, or end default_transaction_read_only and recovery" },
  ],
  [
    // Of a statement, 55000 is another fault: one of an object that is not in the state for it. The severity is in the server's language.
    ({ code, routine }) => code === "57P03" || (code === "55000" && routine === "CheckMyDatabase"),
    { what: "PostgreSQL admits no connections to it now", remedy: "wait until it has started, or until its maintenance ends" },
  ],
  [
    ({ code, message }) => /^28/.test(String(code)) || /^SASL authentication failed/.test(String(message)),
    { what: "PostgreSQL refuses the user", remedy: "see that user and password are right, and that pg_hba.conf lets this host in" },
  ],
  [
    ({ code }) => code === "53300",
    {
      what: "PostgreSQL has no connection left",
      remedy: "raise max_connections there, or the limit of the role or the database, or set a lower DATABASE_CONNECTIONS",
    },
  ],
  [
    ({ code }) => /^(?:5310|58)/.test(String(code)),
    { what: "PostgreSQL has no room left, or cannot use its files", remedy: "free space on its disk, and see its log" },
  ],
  [
    ({ code }) => code === "57014" || code === "55P03",
    { what: "a statement took too long", remedy: "see pg_stat_activity for what holds locks or loads it, then try again" },
  ],
  [
    ({ message }) => /does not support SSL/.test(String(message)),
    { what: "PostgreSQL offers no TLS, which sslmode demands", remedy: "turn it on there (ssl = on), or take sslmode out of the URL" },
  ],
  [
    ({ code }) => /CERT|^UNABLE_TO|^ERR_TLS/.test(String(code)),
    {
      what: "the certificate of PostgreSQL is not trusted for this host",
      remedy: "name its authority in the URL by sslrootcert=PATH, and the host as the certificate does",
    },
  ],
  [
    ({ code, path }) => path !== undefined && /^E(?:NOENT|ACCES|ISDIR)$/.test(String(code)),
    { what: "a file that it names cannot be read", remedy: "see sslrootcert, sslcert and sslkey" },
  ],
  [({ code }) => /^E(?:CONN|NOTFOUND|AI_|TIMEDOUT|HOSTUNREACH|NETUNREACH)/.test(String(code)), UNANSWERED],
];

/** The fault behind an error, or behind one of its causes; undefined for one that is not of the connection. Pure. */
export function databaseFault(error: unknown): DatabaseFault | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = causeOf(cause)) {
    const found = FAULTS.find(([is]) => is(cause as Faulty));
    if (found !== undefined) return found[1];
  }
  return undefined;
}

/** A refusal keeps its cause beside its other details. */
const causeOf = (error: Error & { readonly detail?: { readonly cause?: unknown } }): unknown => error.cause ?? error.detail?.cause;
