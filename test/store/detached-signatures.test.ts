import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { detachedSignatures } from "../../src/store/detached-signatures.ts";
import type { Database } from "../../src/store/orm.ts";
import { anId } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const aSignature = () => ({ alg: "ML-DSA-65" as const, signature: new Uint8Array(randomBytes(3309)) });
const later = () => Math.floor(Date.now() / 1_000) + 900;

describe.for(databaseKinds)("detached signatures on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  test("150 concurrently stored signatures are each found by their jti; an unknown jti has none", async () => {
    const store = detachedSignatures(database.sql);
    const kept = Array.from({ length: 150 }, () => ({ jti: anId(), one: aSignature() }));
    await Promise.all(kept.map(({ jti, one }) => store.keep(jti, one, later())));
    const found = await Promise.all(kept.map(({ jti }) => store.of(jti)));
    for (const [n, { one }] of kept.entries()) {
      expect(found[n]?.alg).toBe("ML-DSA-65");
      expect(Buffer.from(found[n]?.signature ?? []).equals(one.signature)).toBe(true);
    }
    expect(await store.of(anId())).toBeUndefined();
    expect(await store.of('x"},{')).toBeUndefined();
  });

  test("keeps the first signature of a jti, until the token's expiry", async () => {
    const store = detachedSignatures(database.sql);
    const [jti, first, exp] = [anId(), aSignature(), later()];
    await store.keep(jti, first, exp);
    await store.keep(jti, aSignature(), exp + 60);
    expect(Buffer.from((await store.of(jti))?.signature ?? []).equals(first.signature)).toBe(true);
    const rows = await runText<{ exp: number }>(
      database.sql,
      `select extract(epoch from expires_at)::float8 as exp from detached_signatures where jti = '${jti}'`,
    );
    expect(rows).toEqual([{ exp }]);
  });
});
