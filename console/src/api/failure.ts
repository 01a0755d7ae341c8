import { TRPCClientError } from "@trpc/client";
import { ChangedSince } from "./changes.ts";

/** An error as screens show it. */
export interface Failure {
  /** A sentence of the server; undefined if it gave none. */
  readonly message: string | undefined;
  /** The code of the refusal. */
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  /** Seconds, from when it was refused. */
  readonly retryAfter?: number | undefined;
  readonly issues: readonly { readonly path: string; readonly message: string }[];
}

interface ErrorData {
  readonly error?: string;
  readonly message?: string;
  readonly httpStatus?: number;
  readonly retryAfter?: number;
  readonly issues?: Failure["issues"];
}

/** The session has ended, and its user did not sign in again: nothing was sent. */
export class SignedOut extends Error {}

/** What an error says, whether the server refused the call, failed, or was not reached. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ChangedSince) return { message: error.message, code: undefined, status: 409, requestId: undefined, issues: [] };
  const isOfServer = error instanceof TRPCClientError;
  if (isOfServer && error.cause instanceof SignedOut) {
    return { message: error.message, code: undefined, status: 401, requestId: undefined, issues: [] };
  }
  const data = (isOfServer ? error.data : undefined) as ErrorData | null | undefined;
  const response = isOfServer ? (error.meta?.response as Response | undefined) : undefined;
  return {
    message: data?.message,
    code: data?.error,
    status: data?.httpStatus ?? response?.status,
    requestId: response?.headers.get("x-request-id") ?? undefined,
    retryAfter: data?.retryAfter,
    issues: data?.issues ?? [],
  };
}
