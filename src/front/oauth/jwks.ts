import { z } from "zod";
import { type Clock, secondsSince } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import type { TokenCore } from "../../grpc/local.ts";
import { shared } from "../../load-once.ts";
import { apiErrorPrinter, type PreparedDocument, prepareDocument, sendDocument } from "../http/answers.ts";
import { apiError, json, publicOperation, schema } from "../http/describe.ts";
import type { Route } from "../http/routes.ts";

/** 240 seconds: a new key signs 300 after its publication, of which 30 may pass until every core knows it, and FRESH until fronts do. */
const CACHING = "public, max-age=240";
/** Seconds for which a set is served without asking the core again; a rotation shows after at most these. */
const FRESH = 3;
/** Seconds for which the last set is served while no core answers. */
const USABLE = 24 * 60 * 60;
/** Milliseconds that a client waits for a newer set. */
const PATIENCE = 1000;

/** `GET /.well-known/jwks.json`. @see RFC 7517 §5, docs/protocol.md#jwk-set */
export function jwksRoute({ core, issuer, clock }: { readonly core: TokenCore; readonly issuer: string; readonly clock: Clock }): Route {
  const current = keySet(core, clock);
  return {
    method: "GET",
    path: "/.well-known/jwks.json",
    hot: true,
    cors: true,
    essential: true,
    print: apiErrorPrinter(issuer),
    openapi: () =>
      publicOperation("Discovery", "Public keys of every token", {
        "200": json("The set; cacheable.", jwkSet()),
        "304": { description: "Not changed." },
        "503": apiError("No key is known yet."),
      }),
    answer: async (ctx) => sendDocument(ctx, await current(), CACHING),
  };
}

/**
 * The core's public keys, fetched again once they are no longer fresh; concurrent requests share the call. Without a core the last set is served.
 * @throws {Refusal} temporarily_unavailable without a set that is USABLE
 */
function keySet(core: TokenCore, clock: Clock): () => Promise<PreparedDocument> {
  let last: { readonly document: PreparedDocument; readonly at: number } | undefined;
  let tried = Number.NEGATIVE_INFINITY;

  const refresh = shared(async () => {
    tried = clock();
    const { jwksJson } = await core.publicKeys({}, { signal: AbortSignal.timeout(PATIENCE) });
    const unchanged = last?.document.body === jwksJson ? last.document : undefined;
    last = { document: unchanged ?? prepareDocument(jwksJson, "application/json"), at: clock() };
  });

  return async () => {
    const usable = last !== undefined && clock() - last.at <= USABLE;
    // While there is a set to serve, a core that just failed is not asked for every request.
    if (!usable || secondsSince(clock, tried) >= FRESH) {
      await refresh().catch((cause: unknown) => {
        if (!usable) throw new Refusal("temporarily_unavailable", "no_key_set", { retryAfter: 5, cause });
      });
    }
    if (last === undefined) throw new Refusal("temporarily_unavailable", "no_key_set", { retryAfter: 5 });
    return last.document;
  };
}

const jwkSet = schema("JwkSet", () => ({ keys: z.array(z.looseObject({ kty: z.string(), kid: z.string() })) }));
