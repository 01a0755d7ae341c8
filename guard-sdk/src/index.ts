export type { HttpAnswer } from "./answer.ts";
export type { Inbound } from "./credentials.ts";
export { createGuard, type Guard, type GuardedHandler, type RouteOptions, type Verdict } from "./guard.ts";
export type { ResourceMetadata } from "./metadata.ts";
export type { GuardOptions } from "./options.ts";
export type { Principal } from "./principal.ts";
export { GuardRefusal, type RefusalCode } from "./refusal.ts";
export type { Clocks } from "./time.ts";
