import { hash, randomUUID } from "node:crypto";
import pg from "pg";

/** What a durable floor writes: one statement for each request that has an effect. */
export interface Effects {
  issued(clientId: string): Promise<void>;
  /** An identifier that is good once. */
  consumed(jti: string): Promise<void>;
  authorized(code: string): Promise<void>;
  redeemed(code: string, refreshToken: string): Promise<void>;
  rotated(from: string, to: string): Promise<void>;
}

const TABLES = `
  create table issued (jti uuid primary key, client_id text not null, at timestamptz not null default now());
  create table consumed (jti text primary key);
  create table codes (hash bytea primary key, used boolean not null default false);
  create table families (hash bytea primary key)`;

const digest = (secret: string): Buffer => hash("sha256", secret, "buffer");

/** @param url of an empty database */
export async function durableEffects(url: string): Promise<Effects> {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  await pool.query(TABLES);
  const once = async (name: string, text: string, values: readonly unknown[]): Promise<void> => {
    const { rowCount } = await pool.query({ name, text, values: [...values] });
    if (rowCount !== 1) throw new Error(`${name}: not good`);
  };
  return {
    issued: (clientId) => once("issued", "insert into issued (jti, client_id) values ($1, $2)", [randomUUID(), clientId]),
    consumed: (jti) => once("consumed", "insert into consumed (jti) values ($1) on conflict do nothing", [jti]),
    authorized: (code) => once("authorized", "insert into codes (hash) values ($1)", [digest(code)]),
    redeemed: (code, refreshToken) =>
      once(
        "redeemed",
        "with used as (update codes set used = true where hash = $1 and not used returning 1) insert into families (hash) select $2 from used",
        [digest(code), digest(refreshToken)],
      ),
    rotated: (from, to) => once("rotated", "update families set hash = $2 where hash = $1", [digest(from), digest(to)]),
  };
}
