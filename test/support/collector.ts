import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";

/** A span as OTLP has it, and the role of the process that sent it. */
export interface ExportedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly role: string;
  /** Attributes of the process that sent it. */
  readonly resource: Readonly<Record<string, string | undefined>>;
}

/** A metric as OTLP has it, with role and instance of the process that sent it. */
export interface ExportedMetric {
  readonly name: string;
  readonly sum?: { readonly dataPoints: readonly { readonly asDouble: number; readonly attributes: readonly Attribute[] }[] };
  readonly role: string;
  readonly instance: string;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

export const attributesOf = (attributes: readonly Attribute[]): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));

/** An OpenTelemetry collector over HTTP for one test. It accepts only requests with the header `x-key: k`. */
export async function aCollector() {
  const received: { readonly path: string; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const isKnown = request.headers["x-key"] === "k";
    if (isKnown) received.push({ path: request.url ?? "", body });
    response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const bodiesAt = (path: string) => received.filter((each) => each.path === path).map(({ body }) => JSON.parse(body));
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=k",
    },
    /** Everything that arrived, as text. */
    all: () => received.map(({ body }) => body).join("\n"),
    spans: (): readonly ExportedSpan[] =>
      bodiesAt("/v1/traces")
        .flatMap(({ resourceSpans }) => resourceSpans)
        .flatMap(({ resource, scopeSpans }) =>
          scopeSpans[0].spans.map((span: ExportedSpan) => ({
            ...span,
            resource: attributesOf(resource.attributes),
            role: attributesOf(resource.attributes)["countersign.role"],
          })),
        ),
    metrics: (): readonly ExportedMetric[] =>
      bodiesAt("/v1/metrics")
        .flatMap(({ resourceMetrics }) => resourceMetrics)
        .flatMap(({ resource, scopeMetrics }) => {
          const { "countersign.role": role, "service.instance.id": instance } = attributesOf(resource.attributes);
          return scopeMetrics[0].metrics.map((metric: ExportedMetric) => ({ ...metric, role, instance }));
        }),
  };
}

/** The only item that passes. */
export function theOne<Item>(what: string, items: readonly Item[], passes: (item: Item) => boolean): Item {
  const found = items.filter(passes);
  return found.length === 1 && found[0] !== undefined ? found[0] : expect.fail(`${found.length} of ${what}`);
}
