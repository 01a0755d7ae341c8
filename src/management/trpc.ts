import { initTRPC, TRPCError } from "@trpc/server";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { ZodError } from "zod";
import type { AuditActor, AuditEntry, AuditEvent } from "../audit.ts";
import { CONSOLE_CLIENT_ID } from "../clients/client.ts";
import type { Reach } from "../clients/ports.ts";
import { CATALOGUE, type Issue, isRefusal, Refusal, type RefusalCode } from "../errors.ts";
import { isAsStrong, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { parseBearer } from "../protocol/form.ts";
import { issueWords } from "../protocol/issue-messages.ts";
import { isOperator } from "./acts.ts";
import type { Bearer, ManagementPorts } from "./ports.ts";

/** Seconds for which a proof lets a user of the console do what cannot be undone. */
const FRESH = 300;

/**
 * What the sign-in behind a token lacks for an act that cannot be undone; undefined: nothing. Pure. A browser is left open and runs scripts,
 * so the console's tokens need it. The command line asks its user before such an act.
 */
export function missingProof(
  { clientId, proofAge, acr }: Pick<Bearer, "clientId" | "proofAge" | "acr">,
  hasSecondFactor: boolean,
): { readonly acrValues?: string; readonly maxAge: number } | undefined {
  if (clientId !== CONSOLE_CLIENT_ID) return undefined;
  const isRecent = proofAge !== undefined && proofAge <= FRESH;
  const isStrong = !hasSecondFactor || (acr !== undefined && isAsStrong(acr, TWO_FACTOR_ACR));
  if (isRecent && isStrong) return undefined;
  return { ...(hasSecondFactor && { acrValues: TWO_FACTOR_ACR }), maxAge: FRESH };
}

/** @throws {Refusal} insufficient_user_authentication @see docs/protocol.md#fresh-proof */
export async function assertFreshProof(caller: Bearer, { secondFactors }: Pick<ManagementPorts, "secondFactors">): Promise<void> {
  if (caller.clientId !== CONSOLE_CLIENT_ID) return;
  const { appAddedAt } = await secondFactors.stateOf(caller.userId);
  const stepUp = missingProof(caller, appAddedAt !== null);
  if (stepUp === undefined) return;
  const description = "This needs a fresh sign-in. Confirm that it is you, then try again.";
  throw new Refusal("insufficient_user_authentication", "proof_not_fresh", { description, stepUp });
}

export interface ManagementContext {
  readonly ports: ManagementPorts;
  /** The `Authorization` header, which every call of a batch evaluates. */
  readonly authorization: string | undefined;
  /** Validates a token of the scheme `DPoP`, once for all calls of a batch; undefined for another scheme. */
  readonly boundCaller?: (() => Promise<Bearer>) | undefined;
  readonly address: string;
  readonly requestId: string;
  readonly signal: AbortSignal | undefined;
}

/** An error as /trpc returns it, without internals. */
interface PublicError {
  readonly error: RefusalCode | "server_error";
  readonly message: string;
  readonly issues?: readonly Issue[];
  readonly retryAfter?: number;
  readonly acrValues?: string;
  readonly maxAge?: number;
}

const CALL_FAULTS: { readonly [Code in TRPCError["code"]]?: RefusalCode } = {
  NOT_FOUND: "not_found",
  BAD_REQUEST: "invalid_request",
  PARSE_ERROR: "invalid_request",
  METHOD_NOT_SUPPORTED: "method_not_allowed",
  UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
  PAYLOAD_TOO_LARGE: "payload_too_large",
};

/** The refusal that a procedure threw; undefined for an internal fault. */
export function refusalBehind(error: TRPCError): Refusal | undefined {
  if (isRefusal(error.cause)) return error.cause;
  if (error.cause instanceof ZodError) return invalidInput(error.cause);
  const code = CALL_FAULTS[error.code];
  return code === undefined ? undefined : new Refusal(code, "bad_call", { cause: error.cause });
}

/** The schemas' messages are fixed texts, which repeat no values. */
function invalidInput(error: ZodError): Refusal {
  const issues = error.issues.map((issue) => ({ path: issue.path.map(String).join("."), message: issueWords(issue) }));
  return new Refusal("invalid_request", "invalid_input", { description: "The request is not valid.", issues, cause: error });
}

function publicError(refusal: Refusal | undefined): PublicError {
  if (refusal === undefined) return { error: "server_error", message: "Internal error." };
  const { description, issues, retryAfter, stepUp } = refusal.detail;
  return {
    error: refusal.code,
    message: description ?? refusal.code,
    ...(issues && { issues }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...stepUp,
  };
}

/** The body of a refusal that precedes tRPC, in the format of its typed clients. */
export function outerError(refusal: Refusal | undefined) {
  const { trpc: code, http: httpStatus } = refusal === undefined ? FAULT : CATALOGUE[refusal.code];
  const shown = publicError(refusal);
  return { error: { code: TRPC_ERROR_CODES_BY_KEY[code], message: shown.message, data: { code, httpStatus, ...shown } } };
}
const FAULT = { trpc: "INTERNAL_SERVER_ERROR", http: 500 } as const;

const t = initTRPC.context<ManagementContext>().create({
  isDev: false,
  // Longer than a busy moment, shorter than the pauses after which proxies and this server's listener close a connection.
  sse: { ping: { enabled: true, intervalMs: 10_000 }, client: { reconnectAfterInactivityMs: 25_000 } },
  errorFormatter: ({ shape, error }) => {
    const shown = publicError(refusalBehind(error));
    return {
      code: shape.code,
      message: shown.message,
      data: { code: error.code, httpStatus: shape.data.httpStatus, path: shape.data.path, ...shown },
    };
  },
});

export const { router, createCallerFactory } = t;

/** Maps refusals to tRPC codes; any other error stays a fault. */
const refusals = t.middleware(async ({ next }) => {
  const result = await next();
  if (result.ok || !isRefusal(result.error.cause)) return result;
  throw asCallError(result.error.cause);
});

/** A refusal as an error of tRPC, by whose code clients decide whether to try again. */
const asCallError = (refusal: Refusal): TRPCError =>
  new TRPCError({ code: CATALOGUE[refusal.code].trpc, message: refusal.code, cause: refusal });

/** A stream whose refusals are mapped as those of calls are. */
export async function* streamOf<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item, void> {
  try {
    yield* items;
  } catch (error) {
    throw isRefusal(error) ? asCallError(error) : error;
  }
}

/** The base of every procedure; used alone only by those that authenticate their caller themselves. */
export const procedure = t.procedure.use(refusals);

/** @throws {Refusal} unauthenticated, invalid_token, insufficient_scope */
export async function authenticateCaller({ authorization, boundCaller, ports, signal }: ManagementContext): Promise<Bearer> {
  if (boundCaller !== undefined) return boundCaller();
  return ports.bearers.judge(bearerToken(authorization), signal);
}

/** @throws {Refusal} as authenticateCaller; forbidden */
export async function authenticateOperator(ctx: ManagementContext): Promise<Bearer> {
  const caller = await authenticateCaller(ctx);
  if (!isOperator(caller)) throw new Refusal("forbidden", "not_an_operator", { description: "This is for operators." });
  return caller;
}

/** @throws {Refusal} unauthenticated */
export function bearerToken(authorization: string | undefined): string {
  const token = parseBearer(authorization);
  if (token === undefined) throw new Refusal("unauthenticated", "no_bearer", { description: "An access token is required." });
  return token;
}

const ALL: Reach = { kind: "all" };

/** For signed-in users, with the clients that they own; `view`: all clients for an operator, who may look at them. */
export const developerProcedure = procedure.use(async ({ ctx, next }) => {
  const caller = await authenticateCaller(ctx);
  const reach: Reach = { kind: "owner", userId: caller.userId };
  return next({ ctx: { caller, reach, view: isOperator(caller) ? ALL : reach, audit: auditOf(ctx, caller) } });
});

/** For operators, with all records. */
export const operatorProcedure = procedure.use(async ({ ctx, next }) => {
  const caller = await authenticateOperator(ctx);
  return next({ ctx: { caller, reach: ALL, audit: auditOf(ctx, caller) } });
});

/** For acts that cannot be undone, or that give power: the console's user has just proved that it is them. */
export const provenDeveloperProcedure = developerProcedure.use(async ({ ctx, next }) => {
  await assertFreshProof(ctx.caller, ctx.ports);
  return next();
});
export const provenOperatorProcedure = operatorProcedure.use(async ({ ctx, next }) => {
  await assertFreshProof(ctx.caller, ctx.ports);
  return next();
});

/** Makes an audit entry with the actor, address and request id of the call. */
export type AuditNote = (event: AuditEvent, about?: Partial<AuditEntry>) => AuditEntry;

const auditOf = ({ address, requestId }: ManagementContext, { userId }: Bearer): AuditNote => {
  const actor: AuditActor = { type: "user", id: userId };
  return (event, about) => ({ event, outcome: "success", actor, address, requestId, ...about });
};

/** Of a record that was not stored: another one has its name, or its realm is missing. */
export const notAdded = (hasNamesake: boolean, reason: string, description: string): Refusal =>
  hasNamesake
    ? new Refusal("conflict", reason, { description })
    : new Refusal("not_found", "realm_unknown", { description: "This realm does not exist." });

/** The realm that an operator names, or the default one. */
export const realmOf = async (ports: ManagementPorts, realmId: string | undefined): Promise<string> =>
  realmId ?? (await ports.realms.default()).id;
