import { z } from "zod";
import { milliseconds } from "../../clock.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { parseAuthorizationRequest } from "../../protocol/authorization-request.ts";
import { type Form, parseClientCredential, parseForm } from "../../protocol/form.ts";
import { GRANT_TYPES, parseGrant } from "../../protocol/grants.ts";
import type { Explanation } from "../report-ports.ts";
import { operatorProcedure, router } from "../trpc.ts";

const value = z.string().max(20_000);

const TokenRequestInput = z.strictObject({
  /** Form fields; those that may be repeated take a list. */
  parameters: z.record(z.string().min(1).max(100), z.union([value, z.array(value).max(20)])),
  /** `Authorization` header, to evaluate the client's credentials as well. */
  authorization: value.optional(),
  /** `DPoP` header, to evaluate a proof of possession as well. */
  dpop: value.optional(),
});

const explanationView = ({ refused, ...explanation }: Explanation) => ({
  ...explanation,
  ...(refused && { refused: { ...refused, at: milliseconds(refused.at) } }),
});

function textOf(parameters: z.output<typeof TokenRequestInput>["parameters"]): string {
  const pairs = Object.entries(parameters).flatMap(([name, values]) => [values].flat().map((each): [string, string] => [name, each]));
  return new URLSearchParams(pairs).toString();
}

/** A malformed credential is an invalid input, not a failed sign-in of the operator. @throws {Refusal} invalid_request */
function credentialOf(authorization: string | undefined, form: Form, address: string) {
  try {
    return parseClientCredential(authorization, form, address);
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
    throw new Refusal("invalid_request", cause.reason, { description: "authorization is no well-formed Basic header.", cause });
  }
}

/** Explains to operators why a request is granted or refused. Clients learn only the error code. */
export const operatorExplainRouter = router({
  /** Writes and consumes nothing. A mutation, because credentials in its input must not be part of a URL. */
  tokenRequest: operatorProcedure.input(TokenRequestInput).mutation(async ({ ctx, input: { parameters, authorization, dpop } }) => {
    const form = parseForm(textOf(parameters)); // as the token endpoint does
    const client = credentialOf(authorization, form, ctx.address);
    const proven = dpop === undefined ? undefined : { proof: dpop, htm: "POST", htu: `${ctx.ports.issuer}/oauth/token` };
    const request = { client: { ...client, dpop: proven }, grant: parseGrant(form, GRANT_TYPES) };
    return explanationView(await ctx.ports.explainer({ case: "tokenRequest", value: request }, ctx.signal));
  }),
  /** As if the user allowed it, with the scopes that are dropped. A mutation for the same reason. */
  authorizationRequest: operatorProcedure
    .input(TokenRequestInput.pick({ parameters: true }))
    .mutation(async ({ ctx, input: { parameters } }) => {
      const subject = { case: "authorizationRequest", value: parseAuthorizationRequest(textOf(parameters)) } as const;
      return explanationView(await ctx.ports.explainer(subject, ctx.signal, ctx.address));
    }),
  /** An earlier refusal, by the `X-Request-Id` of its response. */
  refusal: operatorProcedure
    .input(z.strictObject({ requestId: z.string().min(1).max(512) }))
    .query(async ({ ctx, input: { requestId } }) =>
      explanationView(await ctx.ports.explainer({ case: "requestId", value: requestId }, ctx.signal)),
    ),
});
