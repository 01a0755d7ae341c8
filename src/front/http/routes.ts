import type { IncomingMessage, ServerResponse } from "node:http";
import type { RouterContext } from "@koa/router";
import type { ZodOpenApiOperationObject } from "zod-openapi";
import { type BodyBudget, bodyBudget } from "../../body-budget.ts";
import type { Refusal } from "../../errors.ts";

/** Waits for a request's body. Until it has arrived, the request does not count towards the cap: slow senders must not keep others out. */
export type Receive = <T>(body: Promise<T>) => Promise<T>;

/** What is known about a request before its route runs. */
export interface FrontState {
  /** Also the `X-Request-Id` of the response; made here, never taken from the request. */
  requestId: string;
  /** The address that the request came from, for limits and audit records. */
  address: string;
  /** Aborted when the request's deadline has passed. */
  signal: AbortSignal;
  /** Every wait for the request's body goes through this. */
  receive: Receive;
  /** Counts what has arrived of the request's body. */
  bodies: BodyBudget;
  /** The address of the same page up to a language, where it can be shown in another one. */
  sameInLanguage?: string;
  /** The realm of the signed-in user, whose branding the page has. */
  realmId?: string;
  /** The e-mail address of the signed-in user, which the account pages name. */
  signedInAs?: string;
  /** Whether the signed-in user has something to do in the console. */
  hasConsole?: boolean;
  /** What an application's request named, for the page that refuses it. */
  requested?: { readonly clientId?: string; readonly redirectUri?: string };
}

/** Stands in until a request is in flight. */
export const NO_STATE: FrontState = {
  requestId: "",
  address: "",
  signal: new AbortController().signal,
  receive: (body) => body,
  bodies: bodyBudget(),
};

export type FrontContext = RouterContext<FrontState>;

/** The members of Koa's context that hot routes may use: Koa's context and `lightContext` both have them. */
export interface HotContext {
  readonly req: IncomingMessage;
  readonly state: FrontState;
  readonly method: string;
  /** Defaults to 200 once there is a body. */
  status: number;
  body: unknown;
  set(name: string, value: string): void;
  remove(name: string): void;
  /** Sends the response; absent where Koa does. */
  readonly send?: () => void;
}

/** Answers one method of one path. What it throws is printed by the route's `print`. */
export type Handler<Context = FrontContext> = (ctx: Context) => Promise<void> | void;

/** Writes a refusal as a response; `undefined` stands for an internal error, of which the response reveals nothing. */
export type ErrorPrinter<Context = FrontContext> = (ctx: Context, refusal: Refusal | undefined) => void;

/** For a GET that has an effect: link previews and scanners of mails send HEAD, which must have none (RFC 9110 §9.2.1). */
export const exceptHead =
  (answer: Handler): Handler =>
  (ctx) => {
    if (ctx.method !== "HEAD") return answer(ctx);
    ctx.status = 200;
  };

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

export interface RouteOf<Context> {
  readonly method: Method;
  /** Parameters are written `:name`. Several spellings are allowed; the first one is documented. */
  readonly path: string | readonly [string, ...string[]];
  /** A handler of GET answers HEAD too. */
  readonly answer: Handler<Context>;
  readonly print: ErrorPrinter<Context>;
  /** Readable by scripts of any origin, without credentials. */
  readonly cors?: true | undefined;
  /** Answered even above the limit of requests in flight. */
  readonly essential?: true | undefined;
  /** Describes the route in the API description; routes without it are left out. */
  readonly openapi?: () => ZodOpenApiOperationObject;
}

/** A route of Koa's router. A hot one is answered in front of Koa, by the same functions at less cost. */
export type Route = (RouteOf<FrontContext> & { readonly hot?: never }) | (RouteOf<HotContext> & { readonly hot: true });

export const pathsOf = ({ path }: Pick<Route, "path">): readonly string[] => (typeof path === "string" ? [path] : path);

/** The path of a request below the issuer's path, as it was sent. */
export const pathText = ({ req }: Pick<HotContext, "req">): string => (req.url ?? "").split("?", 1)[0] ?? "";

/** The query of a request as it was sent, without the question mark. */
export function queryText({ req }: Pick<HotContext, "req">): string {
  const url = req.url ?? "";
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start + 1);
}

/** Statuses whose responses have no content (RFC 9110 §6.4.1). */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);
const CONTENT_HEADERS = ["content-type", "content-length", "transfer-encoding"];

/** One request and its response on a hot route: gathers headers and sends them with the body in one write, which Koa does not. */
export function lightContext(req: IncomingMessage, res: ServerResponse, state = NO_STATE) {
  /** By name in lower case: the name as it was set, and its value. */
  const headers = new Map<string, [name: string, value: string]>();
  const { method = "" } = req;
  const ctx = {
    req,
    state,
    method,
    status: 200,
    body: undefined as string | Buffer | undefined,
    set(name: string, value: string): void {
      headers.set(name.toLowerCase(), [name, value]);
    },
    remove(name: string): void {
      headers.delete(name.toLowerCase());
    },
    /** The response as it is sent: names and values of its headers in turn. */
    complete() {
      const body = EMPTY.has(ctx.status) ? undefined : (ctx.body ?? "");
      if (body === undefined) for (const name of CONTENT_HEADERS) headers.delete(name);
      else ctx.set("Content-Length", String(Buffer.byteLength(body)));
      return { status: ctx.status, lines: [...headers.values()].flat(), body };
    },
    /** Sends the response, unless the client has gone. */
    send(): void {
      if (res.headersSent || !res.writable) return;
      const { status, lines, body } = ctx.complete();
      res.writeHead(status, lines);
      res.end(method === "HEAD" ? undefined : body);
    },
  };
  return ctx;
}
