import { createTRPCClient, httpBatchLink, type TRPCClient, TRPCClientError } from "@trpc/client";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type { ManagementRouter } from "../../src/management/router.ts";

export type { ManagementRouter };

/** What every procedure takes and answers, by its path. */
export type ManagementInputs = inferRouterInputs<ManagementRouter>;
export type ManagementOutputs = inferRouterOutputs<ManagementRouter>;

export interface AdminClientOptions {
  /** Base URL of the service: its issuer. Plain `http://` on loopback alone, for the token travels with each call. */
  readonly url: string;
  /** An access token of a sign-in with the service itself, or what gives one for each request. */
  readonly token: string | (() => string | Promise<string>);
  /** Whole milliseconds for a request and its answer. Default: 30,000. */
  readonly timeout?: number;
}

/** Calls that travel together at most; the server takes no more. */
const BATCH = 20;
/** The server gives up after 15 seconds. */
const TIMEOUT = 30_000;
/** A timer takes no more. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * The management API, typed from the server's own router. What is refused, or not answered in time, is thrown as a `TRPCClientError`;
 * see `refusalOf`.
 * Times are milliseconds since the epoch.
 * @throws {TypeError} when an option is wrong
 */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  assertOptions(options);
  const { url, token, timeout = TIMEOUT } = options;
  const base = url.endsWith("/") ? url : `${url}/`;
  return createTRPCClient<ManagementRouter>({
    links: [
      httpBatchLink({
        url: new URL("trpc", base).href,
        maxItems: BATCH,
        maxURLLength: 8_000,
        fetch: async (input, init) => {
          const deadline = AbortSignal.timeout(timeout);
          const signal = init?.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
          const response = await fetch(input, { ...(init as RequestInit), signal });
          await assertAnswered(response);
          return response;
        },
        headers: async () => {
          const value: unknown = typeof token === "string" ? token : await token();
          if (!isToken(value)) throw noToken(); // an error of the Headers class would show it
          return { authorization: `Bearer ${value}` };
        },
      }),
    ],
  });
}

function assertOptions(options: Partial<AdminClientOptions> | undefined): void {
  const { url = "", token, timeout = TIMEOUT, ...others } = options ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new TypeError(`createAdminClient has no option ${JSON.stringify(unknown)}; it takes url, token, timeout`);
  // What is not shown may hold a password.
  if (typeof url !== "string" || !URL.canParse(url)) throw new TypeError("url of createAdminClient must be an absolute URL as a string");
  const { protocol, host, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "" || /[?#]/.test(url))
    throw new TypeError("url of createAdminClient must have no user name, no password, no query and no fragment");
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(hostname)))
    throw new TypeError(`url of createAdminClient must be https (http only on loopback), and is of ${protocol}//${host}`);
  if (typeof token !== "function" && !isToken(token)) throw noToken();
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > LONGEST_TIMEOUT)
    throw new TypeError(`timeout of createAdminClient must be a whole number of milliseconds from 1 to ${LONGEST_TIMEOUT}`);
}

/** Whether a header can carry it. */
const isToken = (value: unknown): boolean => typeof value === "string" && /^[\x21-\x7e]+\s*$/.test(value);
const noToken = () => new TypeError("token of createAdminClient must be an access token, or a function that returns one");

const isLoopback = (host: string) =>
  host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);

/** The cause of the error where something in front of the server, such as a proxy, answered in its place: the call may succeed later. */
export class NotAnswered extends Error {
  override readonly name = "NotAnswered";
  readonly status: number;

  constructor(status: number) {
    super(`The server cannot answer right now (status ${status}).`);
    this.status = status;
  }
}

/** @throws {NotAnswered} for a limit or an outage that is none of the server, {SyntaxError} for another response that is not its own */
async function assertAnswered(response: Response): Promise<void> {
  const { status, url } = response;
  const body: unknown = await response
    .clone()
    .json()
    .catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error; // the connection broke
    });
  const parts = [body].flat() as ({ readonly result?: unknown; readonly error?: unknown } | null | undefined)[];
  const isAnswer = parts.every((part) => [part?.result, part?.error].some((member) => typeof member === "object"));
  if (isAnswer) return;
  if (status === 429 || status >= 500) throw new NotAnswered(status);
  throw new SyntaxError(`${url.split("?", 1)[0]} answered with status ${status}, but not as the management API.`);
}

/** Every procedure but those of `live`, which are streams. */
export type AdminClient = Omit<TRPCClient<ManagementRouter>, "live">;

/** What the server said no to: a word, a sentence, and what is wrong with which member. */
export interface AdminRefusal {
  readonly error: string;
  readonly message: string;
  readonly httpStatus: number;
  readonly issues: readonly { readonly path: string; readonly message: string }[];
}

/** What a thrown error says of a refusal by the server; undefined when the server was not reached, or the error is none of its. */
export function refusalOf(error: unknown): AdminRefusal | undefined {
  if (!(error instanceof TRPCClientError)) return undefined;
  const data = (error as TRPCClientError<ManagementRouter>).data;
  if (data === null || data === undefined) return undefined;
  return { error: data.error, message: data.message, httpStatus: data.httpStatus, issues: data.issues ?? [] };
}
