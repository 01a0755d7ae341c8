import { AgentError } from "./errors.ts";

export type Fetch = typeof globalThis.fetch;

export interface JsonResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where the response is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 262_144;

/**
 * A request for JSON: at most 10 seconds and 256 KiB, and no redirects, since the response would be another server's.
 * @throws {AgentError} server_unreachable, invalid_response
 */
export async function fetchJson(fetch: Fetch, url: string, init: RequestInit = {}): Promise<JsonResponse> {
  const headers = new Headers(init.headers);
  headers.set("accept", "application/json");
  const request = { ...init, headers, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
  const response = await fetch(url, request).catch((cause: unknown) => {
    throw unreachable(url, cause);
  });
  const text = await limitedText(response).catch((cause: unknown) => {
    throw new AgentError("invalid_response", `the response of ${addressOf(url)} cannot be read`, { cause, status: response.status });
  });
  return { status: response.status, headers: response.headers, body: objectOf(text) };
}

/** A URL as it may be shown: without its user info and its query, which may hold what is secret. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return "the URL";
  const { username, password, origin, pathname } = new URL(url);
  return username === "" && password === "" ? (url.split(/[?#]/, 1)[0] ?? "") : `${origin}${pathname}`;
}

export const unreachable = (url: string, cause: unknown): AgentError =>
  new AgentError("server_unreachable", `${addressOf(url)} does not answer`, { cause });

/** @param statuses with which the metadata was answered, none of them 200 @throws {AgentError} server_unreachable where one is the server's fault */
export function assertNotAway(server: string, statuses: readonly number[]): void {
  const status = statuses.find((each) => each >= 500);
  if (status !== undefined)
    throw new AgentError("server_unreachable", `${server} cannot show its metadata now: it answered ${status}`, { status });
}

async function limitedText(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`longer than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The strings in a member that is a list, none where it is no list. */
export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
