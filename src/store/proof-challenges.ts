import type { ProofChallenge, ProofChallenges } from "../accounts/factors.ts";
import type { UpstreamProof } from "../accounts/ports.ts";
import { execute, firstRow, isStorable, type Sql, statements } from "./sql.ts";
import { PROOF_CHALLENGES } from "./tables/sign-in.ts";

const ABOUT = ["userId", "generation", "upstream"] as const;
const USABLE = "id_hash = $1::bytea and kind = $2 and expires_at > now()";

const SQL = statements("proof_challenge", {
  // Deletes the holder's oldest challenges above the limit, but skips those that another call is deleting.
  put: `with surplus as (
     delete from proof_challenges where id_hash = any(array(
       select id_hash from proof_challenges where holder = $6 order by created_at desc offset $7::int - 1 for update skip locked)))
   insert into proof_challenges (id_hash, kind, user_id, generation, expires_at, holder, upstream)
   values ($1::bytea, $2, $3::uuid, $4::int, now() + make_interval(secs => $5::int), $6, $8::jsonb)`,
  byId: `select ${PROOF_CHALLENGES.select(ABOUT)} from proof_challenges where ${USABLE}`,
  take: `with taken as (delete from proof_challenges where ${USABLE} returning user_id, generation, upstream)
   select ${PROOF_CHALLENGES.select(ABOUT, "taken")} from taken`,
});

/** A session of the provider that cannot be stored is left out, as by Sessions.start. */
const storable = ({ sid, ...identity }: UpstreamProof): UpstreamProof =>
  sid === undefined || !isStorable(sid) ? identity : { ...identity, sid };

export const proofChallenges = (sql: Sql): ProofChallenges => ({
  put: (idHash, kind, { userId, generation, upstream }, ttl, { holder, limit }) =>
    execute(sql, SQL.put, [idHash, kind, userId, generation, ttl, holder, limit, upstream && JSON.stringify(storable(upstream))]),
  byId: (idHash, kind) => firstRow<ProofChallenge>(sql, SQL.byId, [idHash, kind]),
  take: (idHash, kind) => firstRow<ProofChallenge>(sql, SQL.take, [idHash, kind]),
});
