import { randomBytes } from "node:crypto";
import pg from "pg";
import { hashSecret } from "../src/random.ts";

/** A user, or an invited address, with the secret of a link that works once. */
export interface Prepared {
  readonly email: string;
  readonly token: string;
}

type Batch = readonly (Prepared & { readonly hash: Uint8Array })[];

const NEW_USERS = `insert into users (realm_id, email, email_key)
  select realms.id, given.email, given.email from unnest($1::text[]) as given(email), realms where realms.name = 'default'`;
const OF_USERS = "from unnest($1::text[], $2::bytea[]) as given(email, hash) join users on users.email_key = given.email";
const PASSWORDS = `insert into credentials (user_id, type, password_hash)
  select id, 'password', '$argon2id$v=19$m=1024,t=1,p=1$c2FsdHNhbHQ$' || repeat('A', 43) from users where email_key = any($1::text[])`;
const DAY = "now() + interval '1 day'";

/** Stores the links of a batch, as the mails that users get would contain them. */
const STORE = {
  verification: [NEW_USERS, `insert into verification_tokens (token_hash, user_id, expires_at) select hash, users.id, ${DAY} ${OF_USERS}`],
  reset: [NEW_USERS, PASSWORDS, `insert into password_resets (user_id, token_hash, expires_at) select users.id, hash, ${DAY} ${OF_USERS}`],
  invitation: [
    `insert into invitations (token_hash, email, email_key, role, expires_at)
     select hash, email, email, 'user', ${DAY} from unnest($1::text[], $2::bytea[]) as given(email, hash)`,
  ],
} as const;
export type Link = keyof typeof STORE;

const BATCH = 50;

/** Links for races, written directly to the database: what is tried is their use, not their making. */
export function preparedLinks(databaseUrl: string) {
  const waiting: Record<Link, Prepared[]> = { verification: [], reset: [], invitation: [] };
  const made = async (kind: Link): Promise<void> => {
    const batch: Batch = Array.from({ length: BATCH }, () => {
      const [email, token] = [`${kind}-${randomBytes(8).toString("hex")}@example.test`, randomBytes(32).toString("hex")];
      return { email, token, hash: hashSecret(token) };
    });
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on("error", () => undefined); // the query fails
    try {
      await client.connect();
      await client.query("begin");
      for (const text of STORE[kind]) {
        const values = [batch.map(({ email }) => email), batch.map(({ hash }) => hash)];
        await client.query(text, values.slice(0, text.includes("$2") ? 2 : 1));
      }
      await client.query("commit");
    } finally {
      void client.end().catch(() => undefined); // after a refused connection it never ends
    }
    waiting[kind].push(...batch.map(({ email, token }) => ({ email, token })));
  };
  return {
    /** A link that was not used. @throws {Error} while the database does not answer */
    async next(kind: Link): Promise<Prepared> {
      if (waiting[kind].length === 0) await made(kind);
      return waiting[kind].pop() ?? this.next(kind);
    },
  };
}
