import { isLoopbackHost, isWebResource } from "../../protocol/access.ts";
import { UNTRUSTED } from "../failure.ts";
import { shown } from "./finding.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The response to one request; `problem` says in a phrase why `body` is absent. */
export interface Answer {
  readonly url: string;
  /** Undefined where there was no response. */
  readonly status: number | undefined;
  readonly headers: Headers;
  /** The JSON object of a response, and the text of any. */
  readonly body: Json | undefined;
  readonly text?: string;
  readonly problem: string;
}

/** Milliseconds for one request, and bytes of one response. */
const BOUNDS = { milliseconds: 5_000, bytes: 256 * 1024 };
type Bounds = typeof BOUNDS;

export type Web = ReturnType<typeof webOf>;

interface Asked {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export const webOf = (request: (asked: Asked) => Promise<Answer>) => ({
  get: (url: string, accept = "application/json") => request({ url, method: "GET", headers: { accept } }),
  /** A POST of text that is sent as JSON. */
  post: (url: string, text: string, accept = "application/json") =>
    request({ url, method: "POST", body: text, headers: { accept, "content-type": "application/json" } }),
});

/** Requests with an upper bound on time and size. Redirects are reported, never followed. */
export const boundedWeb = (bounds = BOUNDS): Web =>
  webOf(async ({ url, ...init }) => {
    const none = { url, status: undefined, headers: new Headers(), body: undefined };
    const signal = AbortSignal.timeout(bounds.milliseconds);
    let response: Response;
    try {
      response = await fetch(url, { ...init, redirect: "manual", signal });
    } catch (error) {
      return { ...none, problem: signal.aborted ? tooSlow(bounds) : connectionProblem(error) };
    }
    const { status, headers } = response;
    return { url, status, headers, ...(await bodyOf(response, bounds, signal)) };
  });

const tooSlow = ({ milliseconds }: Bounds) => `no complete answer within ${milliseconds / 1000} seconds`;

const CONNECTION_PROBLEMS: readonly (readonly [code: RegExp, problem: string])[] = [
  [/^(?:ENOTFOUND|EAI_)/, "its name does not resolve"],
  [/^ECONNREFUSED$/, "nothing listens there"],
  [UNTRUSTED, "its TLS certificate is not trusted here (NODE_EXTRA_CA_CERTS names further authorities)"],
  [/TLS|SSL/, "no TLS connection can be made"],
];

/** Why a connection failed, in words. @param error whose cause is that of the connection */
export function connectionProblem(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  // Of several attempts, one for each address, the first is representative.
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const code = String((first as { readonly code?: unknown } | undefined)?.code ?? "");
  const known = CONNECTION_PROBLEMS.find(([pattern]) => pattern.test(code))?.[1];
  return known ?? `the connection fails${/^\w{1,40}$/.test(code) ? ` (${code})` : ""}`;
}

type Content = Pick<Answer, "body" | "text" | "problem">;

async function bodyOf(response: Response, bounds: Bounds, signal: AbortSignal): Promise<Content> {
  const without = async (problem: string) => {
    await response.body?.cancel().catch(() => undefined);
    return { body: undefined, problem };
  };
  const { status, headers } = response;
  if (status >= 300 && status < 400) return without(`status ${status}, a redirect to ${shown(headers.get("location") ?? "nowhere")}`);
  // The events of a stream that stays open are of no interest.
  if (headers.get("content-type")?.startsWith("text/event-stream") === true) return without("an event stream instead of JSON");
  try {
    const text = await textOf(response, bounds.bytes);
    if (text === undefined) return { body: undefined, problem: `more than ${bounds.bytes / 1024} kB` };
    return contentOf(text, status);
  } catch {
    if (signal.aborted) return { body: undefined, problem: tooSlow(bounds) };
    return { body: undefined, problem: status === 200 ? "the connection breaks off" : `status ${status}` };
  }
}

/** The text of a response with its JSON object, or in words why there is none. Pure. */
export function contentOf(text: string, status: number): Content {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value)
      ? { text, body: value, problem: `status ${status}` }
      : { text, body: undefined, problem: "JSON, but not an object" };
  } catch {
    return { text, body: undefined, problem: status === 200 ? "something other than JSON" : `status ${status}` };
  }
}

/** @returns undefined for more than `limit` bytes */
async function textOf(response: Response, limit: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > limit) return undefined; // leaving the loop cancels the body
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** The strings of a list, or undefined where a member is no list. */
export const stringsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : undefined;

/**
 * Whether a URL in a document from `from` may be requested: the same origin, https, or this machine if the document came from this machine.
 * Otherwise a remote server could have the doctor request what only this machine can reach. Pure.
 */
export function mayFollow(from: string, to: string): boolean {
  if (URL.parse(to)?.origin === new URL(from).origin) return true;
  if (!isWebResource(to)) return false;
  return !isLoopbackHost(new URL(to).hostname) || isLoopbackHost(new URL(from).hostname);
}

/** The well-known URL for a path, with the path after it (RFC 8414 §3.1, RFC 9728 §3.1). */
export function wellKnown(url: string, name: string, withPath = true): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}/.well-known/${name}${withPath ? pathname.replace(/\/$/, "") + search : ""}`;
}
