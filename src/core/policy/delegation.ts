import { MAX_ACTORS } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { Actor } from "../tokens/access-token.ts";

/** Lists the client ids of a chain, the current actor first. */
export function actorsOf(act: Actor | undefined): readonly string[] {
  const actors: string[] = [];
  for (let actor = act; actor !== undefined; actor = actor.act) actors.push(actor.sub);
  return actors;
}

/**
 * Adds an actor to a chain as its outermost.
 * @param chain undefined for a token without actors
 * @throws {Refusal} invalid_request when there would be more than four
 * @see RFC 8693 §4.1, docs/protocol.md#token-exchange-rules
 */
export function appendActor(chain: Actor | undefined, clientId: string): Actor {
  if (actorsOf(chain).length >= MAX_ACTORS) throw new Refusal("invalid_request", "too_many_actors");
  return chain === undefined ? { sub: clientId } : { sub: clientId, act: chain };
}

/**
 * Seconds that a derived token lives: never longer than the token that it is derived from.
 * @param configured seconds  @param endsAt seconds since the epoch  @param now seconds since the epoch
 * @see docs/protocol.md#token-exchange
 */
export const tokenLifetime = (configured: number, endsAt: number, now: number): number => Math.min(configured, endsAt - now);
