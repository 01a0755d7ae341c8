import type { IncomingMessage } from "node:http";
import type { Router } from "@koa/router";
import type { Refusal } from "../../errors.ts";
import type { Receive } from "./in-flight.ts";

/** What the edge knows of a request before any route sees it. */
export interface FrontState {
  /** Also the `X-Request-Id` of the answer; made by us, never taken from the request. */
  requestId: string;
  /** The address that the request came from, for limits and audit records. */
  address: string;
  /** Aborted when the request's deadline has passed. */
  signal: AbortSignal;
  /** Every wait for the request's body goes through this. */
  receive: Receive;
}

/** What routes use of Koa's context. So little that fixed paths get an `Exchange` instead. */
export interface FrontContext {
  readonly req: IncomingMessage;
  readonly state: FrontState;
  readonly method: string;
  /** 200 once there is a body, unless said. */
  status: number;
  body: unknown;
  set(name: string, value: string): void;
  remove(name: string): void;
  append(name: string, value: string): void;
  vary(name: string): void;
  /** Which of these media types the request would rather have. */
  accepts(...types: string[]): string | false;
}

/** Answers one method of one path. What it throws is printed by the route's `print`. */
export type Handler = (ctx: FrontContext) => Promise<void> | void;

/** Writes a refusal as a response; `undefined` stands for a fault of ours, of which nothing may be told. */
export type ErrorPrinter = (ctx: FrontContext, refusal: Refusal | undefined) => void;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A path without parameters, found by a map look-up. HEAD is answered by GET's handler. */
export interface FixedRoute {
  readonly methods: { readonly [M in Method]?: Handler };
  readonly print: ErrorPrinter;
  /** Readable by scripts of any origin, without credentials. */
  readonly cors?: true;
  /** Answers also when the front has more in flight than it takes. */
  readonly essential?: true;
}

/** What one file of routes contributes. */
export interface RouteGroup {
  readonly fixed?: Readonly<Record<string, FixedRoute>>;
  /** An `exactRouter`, so that its paths have one spelling. */
  readonly router?: Router<FrontState>;
  /** Prints the refusal of a method that a path of the router does not take; without it in the shape of the API. */
  readonly print?: ErrorPrinter;
}

/** The path of a request below the issuer's own, as it was sent. */
export const pathText = (ctx: FrontContext): string => (ctx.req.url ?? "").split("?", 1)[0] ?? "";

/** The query of a request as it was sent, without the question mark. */
export function queryText(ctx: FrontContext): string {
  const url = ctx.req.url ?? "";
  const mark = url.indexOf("?");
  return mark === -1 ? "" : url.slice(mark + 1);
}
