import { text as textResponse } from "../http/describe.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { noStore } from "../http/headers.ts";
import type { FrontContext, Route } from "../http/routes.ts";

/** The metrics in Prometheus format. */
type Exposition = () => Promise<{ readonly contentType: string; readonly text: string }>;

/** `GET /` and `GET /metrics`. @see docs/protocol.md#system-endpoints */
export function systemRoutes({ issuer, exposition }: { readonly issuer: string; readonly exposition: Exposition }): readonly Route[] {
  const print = apiErrorPrinter(issuer);
  const greeting = `Countersign, an OAuth 2.1 and OpenID Connect authorization server.\nReference: ${issuer}/docs\n`;
  return [
    {
      method: "GET",
      path: "/",
      print,
      openapi: () => ({ tags: ["System"], summary: "A greeting", security: [], responses: { "200": textResponse("A greeting.") } }),
      answer: (ctx) => sendText(ctx, greeting, "text/plain; charset=utf-8"),
    },
    {
      method: "GET",
      path: "/metrics",
      essential: true,
      print,
      openapi: () => ({
        tags: ["System"],
        summary: "Metrics for Prometheus",
        security: [],
        responses: { "200": textResponse("The metrics.") },
      }),
      async answer(ctx) {
        const { text, contentType } = await exposition();
        noStore(ctx);
        sendText(ctx, text, contentType);
      },
    },
  ];
}

function sendText(ctx: FrontContext, text: string, contentType: string): void {
  ctx.set("Content-Type", contentType);
  ctx.body = text;
}
