import type { Refusal } from "../errors.ts";

/** What the front reports to operators. It never contains a query, a body, a token or a secret. */

/** One answered request. `route` and `method` come from fixed sets, so that they can label a metric. `seconds`: from arrival to answer. */
export type Observe = (route: string, method: string, status: number, seconds: number, requestId: string) => void;

/** An internal error: something other than a `Refusal` was thrown. */
export type ReportFault = (fault: { readonly requestId: string; readonly route: string; readonly error: unknown }) => void;

/** A request was refused by the route of this pattern. */
export type ReportRefusal = (refusal: Refusal, where: { readonly requestId: string; readonly route: string }) => void;

export interface FrontTelemetry {
  readonly observe: Observe;
  readonly refused: ReportRefusal;
  readonly fault: ReportFault;
}

/** Checks whether a dependency can be used now. A rejection means no. */
export type Probe = () => Promise<boolean>;

/** The metrics in Prometheus format. */
export type Exposition = () => Promise<{ readonly contentType: string; readonly text: string }>;
