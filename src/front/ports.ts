import type { Refusal } from "../errors.ts";

/** What the front tells whoever watches the service. None of it ever carries a query, a body, a token or a secret. */

/** One answered request. `route` and `method` come from fixed sets, so that they can label a metric. `seconds`: from arrival to answer. */
export type Observe = (route: string, method: string, status: number, seconds: number, requestId: string) => void;

/** A fault of ours: something was thrown that is no `Refusal`. */
export type ReportFault = (fault: { readonly requestId: string; readonly route: string; readonly error: unknown }) => void;

/** A request was refused by the route of this pattern. */
export type ReportRefusal = (refusal: Refusal, where: { readonly requestId: string; readonly route: string }) => void;

export interface FrontTelemetry {
  readonly observe: Observe;
  readonly refused: ReportRefusal;
  readonly fault: ReportFault;
}

/** A dependency that is asked whether it can be used now. May reject, which means no. */
export type Probe = () => Promise<boolean>;

/** The metrics as Prometheus reads them. */
export type Exposition = () => Promise<{ readonly contentType: string; readonly text: string }>;
