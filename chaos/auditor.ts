import pg from "pg";
import { claimsOf, type ServerDriver } from "../test/support/flow.ts";
import { pause } from "../test/support/processes.ts";
import { isActive, WEB, WORKER } from "./checks.ts";
import type { Check, Effect, Journal, Raced } from "./journal.ts";
import type { Family, Known } from "./load.ts";

/** A claim about the whole run, how often it was examined, and what contradicts it. */
export interface Verdict {
  readonly claim: string;
  readonly examined: number;
  readonly contradictions: readonly string[];
}

/** Checks at once, and how often one is repeated that the service could not answer. */
const AT_ONCE = 16;
const TRIES = 20;
/** Tokens whose state is asked for; of more, every nth. The records of all are compared. */
const TOKENS = 20_000;

/** Whether checks hold, by all fronts in turn. */
async function examined(checks: readonly Check[], fronts: readonly ServerDriver[]): Promise<readonly boolean[]> {
  const results: boolean[] = [];
  const queue = [...checks.entries()];
  const work = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const [n, check] = next;
      for (let tries = 0; tries < TRIES; tries += 1) {
        const front = fronts[(n + tries) % fronts.length];
        const holds = front === undefined ? undefined : await check(front).catch(() => undefined);
        results[n] = holds === true;
        if (holds !== undefined) break;
        await pause(500);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

async function effectsHold(claim: string, effects: readonly Effect[], fronts: readonly ServerDriver[]): Promise<Verdict[]> {
  const results = await examined(
    effects.map(({ holds }) => holds),
    fronts,
  );
  const kinds = [...new Set(effects.map(({ kind }) => kind))].sort();
  return kinds.map((kind) => {
    const of = effects.map((effect, n) => ({ effect, holds: results[n] === true })).filter(({ effect }) => effect.kind === kind);
    const failed = of.filter(({ holds }) => !holds).map(() => kind);
    return { claim: `${claim}: ${kind}`, examined: of.length, contradictions: failed };
  });
}

/** What the database has of a family: rotations by the audit trail. */
async function familyVerdicts(families: readonly Family[], direct: pg.Client, fronts: readonly ServerDriver[]): Promise<Verdict[]> {
  const { rows } = await direct.query<{ jti: string; rotations: number }>(
    `select first.jti, count(later.jti)::int as rotations from audit_records as first
     left join audit_records as later
       on later.grant_id = first.grant_id and later.event = 'token.issued' and later.grant_type = 'refresh_token'
     where first.jti = any($1::text[]) and first.event = 'token.issued' group by first.jti`,
    [families.map(({ jti }) => jti)],
  );
  const rotations = new Map(rows.map((row) => [row.jti, row.rotations]));
  const countOf = ({ jti }: Family): number => rotations.get(jti) ?? -1;
  const described = (family: Family): string => `${family.answered} answered, ${family.lost} lost, ${countOf(family)} recorded`;
  const refused = families.filter(({ state }) => state === "refused");
  const live = families.filter(({ state }) => state === "live");
  const results = await examined(
    live.map((family) => async (front) => {
      const { status } = await front.refresh(WEB, family.token);
      if (status >= 500) return undefined;
      return status === 200 || (family.lost > 0 && countOf(family) > family.answered);
    }),
    fronts,
  );
  return [
    {
      claim: "every answered rotation of a refresh token is recorded, and none beyond the lost answers",
      examined: families.reduce((sum, { answered }) => sum + answered, 0),
      contradictions: families.filter((one) => countOf(one) < one.answered || countOf(one) > one.answered + one.lost).map(described),
    },
    {
      claim: "a client that repeats a refresh is refused only if the first one took effect",
      examined: families.reduce((sum, { lost }) => sum + lost, 0),
      contradictions: refused.filter((one) => countOf(one) <= one.answered).map(described),
    },
    {
      claim: "every family of refresh tokens that was not ended is alive",
      examined: live.length,
      contradictions: live.filter((_, n) => results[n] !== true).map(described),
    },
  ];
}

async function tokenVerdicts({ tokens, lostTokens }: Known, direct: pg.Client, fronts: readonly ServerDriver[]): Promise<Verdict[]> {
  const { rows } = await direct.query<{ jti: string }>(
    "select jti from audit_records where event = 'token.issued' and client_id = 'worker' and jti is not null",
  );
  const issued = new Set(rows.map(({ jti }) => jti));
  const missing = tokens.map(({ token }) => claimsOf(token).jti as string).filter((jti) => !issued.has(jti));
  const beyond = issued.size - tokens.length - lostTokens;
  const step = Math.ceil(tokens.length / TOKENS);
  const effects = tokens
    .filter(({ state }, n) => state !== "unknown" && n % step === 0)
    .map(({ token, state }) => ({
      kind: state === "live" ? "live token" : "revoked token",
      holds: isActive(WORKER, token, state === "live"),
    }));
  return [
    { claim: "every acknowledged token has its audit record", examined: tokens.length, contradictions: missing },
    {
      claim: "no token was recorded beyond those acknowledged and the lost answers",
      examined: issued.size,
      contradictions: beyond > 0 ? [`${beyond} more`] : [],
    },
    ...(await effectsHold("in its state at the end", effects, fronts)),
  ];
}

/** Links that took effect more than once, whatever their users were answered. */
async function linkVerdicts(direct: pg.Client): Promise<Verdict[]> {
  const { rows } = await direct.query<{ event: string; users: number; twice: number }>(
    `select event, count(*)::int as users, (count(*) filter (where times > 1))::int as twice from (
       select event, audit_records.user_id, count(*) as times from audit_records join users on users.id::text = audit_records.user_id
       where event in ('user.verified', 'password.changed', 'user.registered') and users.email ~ '^(verification|reset|invitation)-'
       group by event, audit_records.user_id) as each group by event order by event`,
  );
  return rows.map(({ event, users, twice }) => ({
    claim: `recorded once for each user: ${event}`,
    examined: users,
    contradictions: twice > 0 ? [`${twice} users`] : [],
  }));
}

const describedRace = ({ winners, lost, outcomes }: Raced): string =>
  `${winners} winners, ${lost} lost, ${[...new Set(outcomes)].join(", ")}`;

function raceVerdicts(races: readonly Raced[]): Verdict[] {
  const kinds = [...new Set(races.map(({ kind }) => kind))].sort();
  return kinds.map((kind) => {
    const of = races.filter((race) => race.kind === kind && race.answered > 1);
    const wrong = of.filter(({ winners, lost }) => winners > 1 || (winners === 0 && lost === 0 && kind !== "revocation"));
    return { claim: `one winner: race for ${kind}`, examined: of.length, contradictions: wrong.map(describedRace) };
  });
}

function answerVerdicts({ entries, contradictions }: Journal): Verdict[] {
  const refusals = entries.filter(({ status }) => status === 503);
  const wrong = entries.filter(({ expected }) => !expected);
  const late = refusals.filter(({ retryAfter }) => !retryAfter);
  return [
    { claim: "no answer under load was wrong", examined: entries.length, contradictions },
    {
      claim: "a request that cannot be served is refused with 503",
      examined: entries.length,
      contradictions: wrong.map(({ kind, status, fault }) => `${kind} ${status} during ${fault}`),
    },
    {
      claim: "every 503 has Retry-After",
      examined: refusals.length,
      contradictions: late.map(({ kind, fault }) => `${kind} during ${fault}`),
    },
  ];
}

/** Compares what the clients know with the service and its database, after the last fault. */
export async function audit(journal: Journal, known: Known, fronts: readonly ServerDriver[], databaseUrl: string): Promise<Verdict[]> {
  const direct = new pg.Client({ connectionString: databaseUrl });
  await direct.connect();
  try {
    return [
      ...raceVerdicts(journal.races),
      ...(await linkVerdicts(direct)),
      ...(await familyVerdicts(known.families, direct, fronts)),
      ...(await tokenVerdicts(known, direct, fronts)),
      ...(await effectsHold("used or ended for good", journal.effects, fronts)),
      ...answerVerdicts(journal),
    ];
  } finally {
    await direct.end();
  }
}
