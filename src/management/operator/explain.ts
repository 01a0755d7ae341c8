import { z } from "zod";
import { milliseconds } from "../../clock.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { parseAuthorizationRequest } from "../../protocol/authorization-request.ts";
import { parseClientCredential } from "../../protocol/client-credential.ts";
import { parseForm } from "../../protocol/form.ts";
import { GRANT_TYPES, parseGrant } from "../../protocol/grants.ts";
import type { Explanation } from "../explain-ports.ts";
import { operatorProcedure, router } from "../trpc.ts";

const value = z.string().max(20_000);

/** A token request as a client would make it. */
const TokenRequestInput = z.strictObject({
  /** The fields of the form; those that may be repeated take a list. */
  parameters: z.record(z.string().min(1).max(100), z.union([value, z.array(value).max(20)])),
  /** An `Authorization` header, where the client's own credentials are to be judged as well. */
  authorization: value.optional(),
});

const explanationView = ({ refused, ...told }: Explanation) => ({
  ...told,
  ...(refused && { refused: { ...refused, at: milliseconds(refused.at) } }),
});

type Parameters = z.output<typeof TokenRequestInput>["parameters"];

function textOf(parameters: Parameters): string {
  const pairs = Object.entries(parameters).flatMap(([name, given]) => [given].flat().map((each): [string, string] => [name, each]));
  return new URLSearchParams(pairs).toString();
}

/** The same reader as that of the token endpoint, so that a request is taken for exactly what it would be there. */
const formOf = (parameters: Parameters) => parseForm(textOf(parameters));

/** What cannot be read is no request to be judged, and no failure of the operator's own sign-in. @throws {Refusal} invalid_request */
function credentialOf(authorization: string | undefined, form: ReturnType<typeof formOf>, address: string) {
  try {
    return parseClientCredential(authorization, form, address);
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
    throw new Refusal("invalid_request", cause.reason, { description: "authorization is no well-formed Basic header.", cause });
  }
}

/** Why a token request is granted or refused, rule by rule. The outside is told no more than before. */
export const operatorExplainRouter = router({
  /** Nothing is written and nothing used up. It is a mutation all the same: its input holds credentials, which must stand in no URL. */
  tokenRequest: operatorProcedure.input(TokenRequestInput).mutation(async ({ ctx, input: { parameters, authorization } }) => {
    const form = formOf(parameters);
    const client = credentialOf(authorization, form, ctx.address);
    return explanationView(await ctx.ports.explainer.ofRequest(client, parseGrant(form, GRANT_TYPES), ctx.signal));
  }),
  /** What a code would be for that an authorization request asks for, if the user allows it, and which scopes are dropped; a mutation as above. */
  authorizationRequest: operatorProcedure
    .input(TokenRequestInput.pick({ parameters: true }))
    .mutation(async ({ ctx, input: { parameters } }) =>
      explanationView(await ctx.ports.explainer.ofAuthorization(parseAuthorizationRequest(textOf(parameters)), ctx.address, ctx.signal)),
    ),
  /** A refusal of the past, by the `X-Request-Id` of its answer. */
  refusal: operatorProcedure
    .input(z.strictObject({ requestId: z.string().min(1).max(512) }))
    .query(async ({ ctx, input: { requestId } }) => explanationView(await ctx.ports.explainer.ofRefusal(requestId, ctx.signal))),
});
