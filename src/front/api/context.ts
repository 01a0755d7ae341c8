import { TRPCError } from "@trpc/server";
import { ROLES } from "../../accounts/ports.ts";
import { Refusal } from "../../errors.ts";
import {
  AccessTokenUse,
  type ExplainResponse,
  type RefusedTokenRequest,
  Verdict,
  type WouldBeGranted,
} from "../../gen/countersign/token/v1/token_pb.ts";
import type { TokenCore } from "../../grpc/local.ts";
import type { Bearers, ManagementPorts } from "../../management/ports.ts";
import type { Explainer, Explanation, RuleVerdict } from "../../management/report-ports.ts";
import { managementCaller } from "../../management/router.ts";
import { authenticateCaller, type ManagementContext, refusalBehind } from "../../management/trpc.ts";
import { boundToken, giveNonce } from "../http/answers.ts";
import { jsonBody } from "../http/body.ts";
import type { FrontContext, Handler } from "../http/routes.ts";
import type { FrontTelemetry } from "../http/steps.ts";

export interface ManagementRoutesOptions extends Pick<FrontTelemetry, "fault"> {
  readonly issuer: string;
  readonly ports: ManagementPorts;
}

/** Authenticates callers of the management API by asking the core about their access token. */
export const bearersOf = (core: TokenCore): Bearers => ({
  async judge(accessToken, signal, dpop) {
    const use = AccessTokenUse.MANAGEMENT;
    const bearer = await core.verifyAccessToken({ accessToken, use, dpop }, { ...(signal && { signal }) });
    const { sub: userId, clientId, scopes, acr, proofAge, dpopNonce } = bearer;
    return { userId, clientId, scopes, role: ROLES.find((role) => role === bearer.role) ?? "user", acr, proofAge, dpopNonce };
  },
});

export const contextOf = (ctx: FrontContext, { issuer, ports }: Pick<ManagementRoutesOptions, "issuer" | "ports">): ManagementContext => ({
  ports,
  authorization: ctx.req.headers.authorization,
  boundCaller: boundCallerOf(ctx, issuer, ports.bearers),
  address: ctx.state.address,
  requestId: ctx.state.requestId,
  signal: ctx.state.signal,
});

/** A proof serves one request, which may be a batch of calls: it is used up once. */
function boundCallerOf(ctx: FrontContext, issuer: string, bearers: Bearers): ManagementContext["boundCaller"] {
  const bound = boundToken(ctx, issuer);
  if (bound === undefined) return undefined;
  let judged: ReturnType<Bearers["judge"]> | undefined;
  return () => {
    judged ??= bearers.judge(bound.accessToken, ctx.state.signal, bound.dpop).then((bearer) => {
      giveNonce(ctx, bearer.dpopNonce);
      return bearer;
    });
    return judged;
  };
}

export type ProcedureCalls = ReturnType<typeof procedureCalls>;
type Procedures = ReturnType<typeof managementCaller>;

/** Lets routes call the procedures of the typed API, which authenticate the caller and validate the input. */
export function procedureCalls(options: ManagementRoutesOptions) {
  return {
    calling:
      (work: (procedures: Procedures, ctx: FrontContext) => Promise<void>): Handler =>
      (ctx) =>
        work(managementCaller(contextOf(ctx, options)), ctx).catch((error: unknown) => {
          throw thrownBy(error);
        }),
    /** A body for the procedure, whose schema validates it. */
    body: async (ctx: FrontContext) => (await bodyOf(ctx, options)) as never,
  };
}

/** Reads a body. What is wrong with it is reported only to callers who may use the API. */
export async function bodyOf(ctx: FrontContext, options: ManagementRoutesOptions): Promise<unknown> {
  try {
    return await jsonBody(ctx);
  } catch (error) {
    await authenticateCaller(contextOf(ctx, options));
    throw error;
  }
}

/** The error of a procedure as it is printed here: issues name members of the body, without the input that holds the body. */
function thrownBy(error: unknown): unknown {
  if (!(error instanceof TRPCError)) return error;
  const refusal = refusalBehind(error);
  if (refusal === undefined) return error.cause ?? error;
  const { issues } = refusal.detail;
  if (issues === undefined) return refusal;
  const ofBody = issues.map(({ path, message }) => ({ path: path.replace(/^(?:patch|key)(?:\.|$)/, ""), message }));
  return new Refusal(refusal.code, refusal.reason, { ...refusal.detail, issues: ofBody });
}

const WORDS: Readonly<Record<Verdict, RuleVerdict | undefined>> = {
  [Verdict.UNSPECIFIED]: undefined,
  [Verdict.PASSED]: "passed",
  [Verdict.REFUSED]: "refused",
  [Verdict.NOT_REACHED]: "not_reached",
  [Verdict.TAKEN_FOR_GRANTED]: "taken_for_granted",
};

export const explainerOf =
  (core: Pick<TokenCore, "explain">): Explainer =>
  async (subject, signal, address = "") =>
    explanationOf(await core.explain({ address, subject }, { ...(signal && { signal }) }));

const explanationOf = ({ rules, granted, refused, droppedScope, clientId }: ExplainResponse): Explanation => ({
  rules: rules.map(({ rule, demand, source, verdict, error, reason }) => {
    // A later core may send a verdict that this front does not know.
    return { rule, demand, source, verdict: WORDS[verdict] ?? "not_reached", error, reason };
  }),
  ...(granted && { granted: grantedOf(granted) }),
  ...(droppedScope.length > 0 && { droppedScope }),
  clientId,
  ...(refused && { refused: refusedOf(refused) }),
});

const grantedOf = ({ sub, scope, aud, expiresIn, issuedTokenType, refreshToken, idToken, actors }: WouldBeGranted) => {
  return { sub, scope, aud, expiresIn, issuedTokenType, refreshToken, idToken, actors };
};

const refusedOf = ({ clientId, grantType, reason, at, error }: RefusedTokenRequest) => ({ clientId, grantType, reason, at, error });
