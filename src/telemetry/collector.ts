import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type ErrorHandler, setGlobalErrorHandler } from "@opentelemetry/core";
import { resourceFromAttributes } from "@opentelemetry/resources";

export type Collector = ReturnType<typeof collectorOf>;

interface CollectorSettings {
  /** Base URL. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What the operator says of the process. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly role: string;
  readonly issuer: string;
  /** Receives what the libraries could not send. */
  readonly onFailure: ErrorHandler;
}

/** Where an OpenTelemetry collector takes what this process sends, and how the process names itself there. */
export function collectorOf({ endpoint, headers, attributes, role, issuer, onFailure }: CollectorSettings) {
  setGlobalErrorHandler(onFailure);
  const service = { "service.name": "countersign", "service.namespace": issuer };
  const process = { "service.instance.id": randomUUID(), "countersign.role": role };
  return {
    resource: resourceFromAttributes({ ...service, ...attributes, ...process }),
    /** Address and headers for one kind of data. @param path such as `/v1/traces` */
    at: (path: string) => ({ url: `${endpoint.replace(/\/$/, "")}${path}`, headers: { ...headers } }),
  };
}

/** Milliseconds for the last export of a process that ends. */
const LAST_EXPORT = 3_000;

/** Waits for the last export of a process that ends, but not for a collector that is gone. */
export const atMost = (done: Promise<void>): Promise<void> => Promise.race([done, setTimeout(LAST_EXPORT, undefined, { ref: false })]);
