import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Attributes,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { isRefusal } from "../errors.ts";
import { atMost, type Collector } from "./collector.ts";

export interface TracingSettings {
  readonly collector: Collector;
  /** The share of requests that are traced, from 0 to 1. */
  readonly ratio: number;
  /** Whether a caller's `traceparent` is continued: only behind a trusted proxy. */
  readonly continues: boolean;
}

export type Tracing = ReturnType<typeof startTracing>;

const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

/** The public code of a refusal, or the kind of another error; never its message. */
const failed = (span: Span, error: unknown): void => {
  span.setAttribute("error.type", isRefusal(error) ? error.code : error instanceof Error ? error.name : "other");
  span.setStatus({ code: SpanStatusCode.ERROR });
};

/**
 * Sends spans of requests, calls of the core and statements to an OpenTelemetry collector (OTLP over HTTP). Attributes hold names from the
 * source, never values of a request. Loaded only where an endpoint is configured.
 */
export function startTracing({ collector, ratio, continues }: TracingSettings) {
  const exporter = new OTLPTraceExporter(collector.at("/v1/traces"));
  const provider = new TracerProvider({
    resource: collector.resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer("countersign");
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagator = new W3CTraceContextPropagator();
  return {
    /**
     * Traces `work` as part of what runs now, or of a span of another process; nothing else.
     * @param traceparent context of that other span, by W3C Trace Context
     */
    async within<Result>(
      name: string,
      kind: keyof typeof KINDS,
      attributes: Attributes,
      work: () => Promise<Result>,
      traceparent?: string,
    ): Promise<Result> {
      const isLocal = trace.getActiveSpan() !== undefined;
      if (!isLocal && traceparent === undefined) return work();
      const parent = isLocal ? context.active() : propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
      const span = tracer.startSpan(name, { kind: isLocal ? KINDS[kind] : SpanKind.SERVER, attributes }, parent);
      try {
        return await context.with(trace.setSpan(parent, span), work);
      } catch (error) {
        failed(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    /** The context of what runs now, for another process; undefined when it is not traced. */
    traceparent(): string | undefined {
      if (trace.getActiveSpan()?.isRecording() !== true) return undefined;
      const carrier: { traceparent?: string } = {};
      propagator.inject(context.active(), carrier, defaultTextMapSetter);
      return carrier.traceparent;
    },
    /** Traces a request. @param route its pattern, if it is known */
    request(request: IncomingMessage, response: ServerResponse, route: string | undefined, work: () => void): void {
      const parent = continues ? propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter) : ROOT_CONTEXT;
      const method = request.method ?? "GET";
      const attributes = { "http.request.method": method, ...(route !== undefined && { "http.route": route }) };
      const span = tracer.startSpan(route === undefined ? method : `${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
      response.once("close", () => {
        span.setAttribute("http.response.status_code", response.statusCode);
        if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      });
      context.with(trace.setSpan(parent, span), work);
    },
    /** Names the request that runs now by the pattern of the route that answered it. */
    routed(method: string, route: string): void {
      trace.getActiveSpan()?.updateName(`${method} ${route}`).setAttribute("http.route", route);
    },
    close: () => atMost(provider.shutdown()),
  };
}
