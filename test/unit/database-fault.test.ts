import { expect, test } from "vitest";
import { databaseFault } from "../../src/database-fault.ts";
import { Refusal } from "../../src/errors.ts";

const failure = (members: object, message = "a failure") => Object.assign(new Error(message), members);
const unavailable = (cause: unknown) => new Refusal("temporarily_unavailable", "storage_unavailable", { cause });

test.for([
  ["a missing database", failure({ code: "3D000" }, 'database "secret" does not exist'), "the database that it names does not exist"],
  ["a refused password", unavailable(failure({ code: "28P01" })), "PostgreSQL refuses the user"],
  ["a host that pg_hba.conf leaves out", unavailable(failure({ code: "28000" })), "PostgreSQL refuses the user"],
  [
    "a pooler that refuses parameters of connections",
    unavailable(failure({ code: "08P01" }, "unsupported startup parameter: statement_timeout")),
    "a pooler answers, and refuses what the server asks of its own connections",
  ],
  ["a password that PgBouncer refuses", failure({ code: "08P01" }, "SASL authentication failed"), "PostgreSQL refuses the user"],
  [
    "a database that PgBouncer does not know",
    failure({ code: "08P01" }, "no such database: secret"),
    "the database that it names does not exist",
  ],
  [
    "a server without TLS",
    unavailable(new Error("The server does not support SSL connections")),
    "PostgreSQL offers no TLS, which sslmode demands",
  ],
  [
    "a certificate of an unknown authority",
    failure({ code: "SELF_SIGNED_CERT_IN_CHAIN" }),
    "the certificate of PostgreSQL is not trusted for this host",
  ],
  [
    "a certificate for another host",
    new Error("wrapped", { cause: failure({ code: "ERR_TLS_CERT_ALTNAME_INVALID" }) }),
    "the certificate of PostgreSQL is not trusted for this host",
  ],
  ["a missing file of an authority", failure({ code: "ENOENT", path: "/nowhere/ca.pem" }), "a file that it names cannot be read"],
  ["a server that does not run", unavailable(failure({ code: "ECONNREFUSED" })), "the database does not answer"],
  ["a standby", unavailable(failure({ code: "25006" })), "the database takes no writes"],
  ["a server whose connections are all taken", unavailable(failure({ code: "53300" })), "PostgreSQL has no connection left"],
  ["a database that is closed", failure({ code: "55000", routine: "CheckMyDatabase" }), "PostgreSQL admits no connections to it now"],
  ["a statement for which something is not ready", failure({ code: "55000", severity: "FEHLER", routine: "currval_oid" }), undefined],
  ["a full disk", unavailable(failure({ code: "53100" })), "PostgreSQL has no room left, or cannot use its files"],
  ["a file that cannot be read", unavailable(failure({ code: "58030" })), "PostgreSQL has no room left, or cannot use its files"],
  ["a statement that was ended", unavailable(failure({ code: "57014" })), "a statement took too long"],
  ["a lock that was not freed", unavailable(failure({ code: "55P03" })), "a statement took too long"],
  ["a server that starts", unavailable(failure({ code: "57P03" })), "PostgreSQL admits no connections to it now"],
  ["a host that has no address", failure({ code: "ENOTFOUND" }), "the database does not answer"],
  [
    "a search path without a schema",
    failure({ code: "3F000" }),
    "the search_path of the user leads to no schema, or to another one than before",
  ],
  [
    "a search path that leads elsewhere",
    failure({ code: "42P01" }, 'relation "schema_migrations" does not exist'),
    "the search_path of the user leads to no schema, or to another one than before",
  ],
  ["another fault", failure({ code: "42P01" }), undefined],
  ["no error", undefined, undefined],
] as const)("%s", ([, error, what]) => {
  expect(databaseFault(error)?.what).toBe(what);
});
