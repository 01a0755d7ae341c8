import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type ErrorHandler, setGlobalErrorHandler } from "@opentelemetry/core";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";

/** Where an OpenTelemetry collector takes what this process sends, and how the process names itself there. */
export interface Collector {
  readonly resource: Resource;
  /** Address and headers for one kind of data. @param path such as `/v1/traces` */
  at(path: string): { readonly url: string; readonly headers: Record<string, string> };
}

export interface CollectorSettings {
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

export function collectorOf({ endpoint, headers, attributes, role, issuer, onFailure }: CollectorSettings): Collector {
  setGlobalErrorHandler(onFailure);
  const service = { "service.name": "countersign", "service.namespace": issuer };
  const process = { "service.instance.id": randomUUID(), "countersign.role": role };
  return {
    resource: resourceFromAttributes({ ...service, ...attributes, ...process }),
    at: (path) => ({ url: `${endpoint.replace(/\/$/, "")}${path}`, headers: { ...headers } }),
  };
}

/** Milliseconds for the last export of a process that ends. */
const LAST_EXPORT = 3_000;

/** Waits for the last export of a process that ends, but not for a collector that is gone. */
export const atMost = (done: Promise<void>): Promise<void> => Promise.race([done, setTimeout(LAST_EXPORT, undefined, { ref: false })]);
