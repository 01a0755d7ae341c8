import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { createConnection, type LookupFunction } from "node:net";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { AbstractConnector, type StandaloneConnectionOptions } from "ioredis";
import { singleFlight } from "../../load-once.ts";

/** Resolves all addresses of a name. */
export type ResolveAll = (host: string, options: LookupOptions & { readonly all: true }) => Promise<LookupAddress[]>;

/**
 * Looks a name up at most once at a time. The system's resolver runs two look-ups at a time for the whole process, each for up to half a
 * minute where name servers are silent: one more for each attempt to connect would keep PostgreSQL from its addresses for ever.
 */
export function oneLookup(resolve: ResolveAll = promisify(lookup)): LookupFunction {
  const found = singleFlight((_key, host: string, options: LookupOptions) => resolve(host, { ...options, all: true }));
  return (host, { family, hints, all }, done) => {
    found(`${host} ${family} ${hints}`, host, { family, hints }).then(
      (addresses) => (all ? done(null, addresses) : done(null, addresses[0]?.address ?? "", addresses[0]?.family)),
      (error: NodeJS.ErrnoException) => done(error, []),
    );
  };
}

/** Connects as the connector of the library does, by a look-up that all attempts share. */
export const connectorBy = (lookUp: LookupFunction) =>
  class extends AbstractConnector {
    readonly #options: StandaloneConnectionOptions;

    constructor(options: unknown) {
      const given = options as StandaloneConnectionOptions; // the library declares any, and gives those of its client
      super(given.disconnectTimeout ?? 0);
      this.#options = given;
    }

    override async connect() {
      const { host, port = 6379, family, path, tls } = this.#options;
      const where = path ? { path } : { host, port, family, lookup: lookUp };
      this.connecting = true;
      this.stream = tls ? connectTls({ ...where, ...tls }) : createConnection(where);
      this.stream.once("error", (error) => {
        this.firstError = error;
      });
      return this.stream;
    }
  };
