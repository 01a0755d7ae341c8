import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { Brandings } from "../../branding/branding.ts";
import type { ClockState } from "../../clock.ts";
import { apiErrorPrinter, noStore, sendJson } from "../http/answers.ts";
import { json, publicOperation, schema, text as textResponse } from "../http/describe.ts";
import type { FrontContext, Route } from "../http/routes.ts";
import type { Lifecycle } from "../http/steps.ts";
import { wideLink } from "../pages/views/cards.ts";
import { type Asked, askedOf, html, sendPage, siteOf } from "../pages/views/layout.ts";

/** Milliseconds for which one check of the dependencies is reused. */
const GOOD_FOR = 2000;
/** Milliseconds after which a dependency that has not answered counts as disconnected. */
const PATIENCE = 800;

/** Checks whether a dependency can be used now. A rejection means no. */
type Probe = () => Promise<boolean>;

export interface HealthOptions extends Readonly<Record<keyof Services, Probe>> {
  readonly issuer: string;
  readonly lifecycle: Lifecycle;
  readonly clock: () => ClockState | undefined;
  readonly diskIsFull: () => boolean;
}

type Connectivity = "connected" | "disconnected";
type Services = Readonly<Record<"database" | "redis" | "core", Connectivity>>;

/**
 * `GET /health` reports whether this front can serve traffic: it needs database and core, while Redis is optional.
 * `GET /health/live` reports that the event loop runs, and checks nothing else.
 */
export function healthRoutes(options: HealthOptions): readonly Route[] {
  const look = cached(() => servicesOf(options));
  const print = apiErrorPrinter(options.issuer);
  return [
    {
      method: "GET",
      path: "/health",
      essential: true,
      print,
      openapi: () =>
        publicOperation("System", "Whether traffic should come here", {
          "200": json("It should.", Health()),
          "503": json("It should not.", Health()),
        }),
      async answer(ctx) {
        const services = await look();
        const status = options.lifecycle.draining ? "draining" : statusOf(services);
        const clock = options.clock();
        const body = { status, services, ...(clock && { clock }), ...(options.diskIsFull() && { disk: "full" }) };
        const serves = status === "ok" || status === "degraded";
        if (!serves) ctx.set("Retry-After", "5");
        sendJson(ctx, body, serves ? 200 : 503);
      },
    },
    {
      method: "GET",
      path: "/health/live",
      essential: true,
      print,
      openapi: () => publicOperation("System", "Whether the process lives; looks at nothing else", { "200": json("It does.", liveness()) }),
      answer: (ctx) => sendJson(ctx, { status: "ok" }),
    },
  ];
}

const statusOf = ({ database, redis, core }: Services): "ok" | "degraded" | "error" => {
  if (database === "disconnected" || core === "disconnected") return "error";
  return redis === "connected" ? "ok" : "degraded";
};

async function servicesOf(options: HealthOptions): Promise<Services> {
  const [database, redis, core] = await Promise.all([ask(options.database), ask(options.redis), ask(options.core)]);
  return { database, redis, core };
}

async function ask(probe: Probe): Promise<Connectivity> {
  const late = setTimeout(PATIENCE, false, { ref: false });
  const isFine = await Promise.race([probe(), late]).catch(() => false);
  return isFine ? "connected" : "disconnected";
}

/** Shares one check among all requests while it runs and for a while after. */
function cached(look: () => Promise<Services>): () => Promise<Services> {
  let latest: { readonly services: Promise<Services>; readonly until: number } | undefined;
  return () => {
    const now = performance.now();
    if (latest === undefined || latest.until <= now) latest = { services: look(), until: now + GOOD_FOR - PATIENCE };
    return latest.services;
  };
}

const liveness = schema("Liveness", () => ({ status: z.literal("ok") }));

const connectivity = () => z.enum(["connected", "disconnected"]);

const Health = schema("Health", () => ({
  status: z.enum(["ok", "degraded", "error", "draining"]),
  services: z.object({ database: connectivity(), redis: connectivity(), core: connectivity() }),
  clock: z
    .enum(["corrected", "uncertain"])
    .optional()
    .describe("Only while the clock of this process differs from the database's by more than 2 s, or may."),
  disk: z.literal("full").optional().describe("Only while the disk of the embedded database is full, so that it refuses writes."),
}));

interface SystemOptions {
  readonly issuer: string;
  readonly brandings: Brandings;
  readonly exposition: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** `GET /` and `GET /metrics`. @see docs/protocol.md#system-endpoints */
export function systemRoutes({ issuer, brandings, exposition }: SystemOptions): readonly Route[] {
  const print = apiErrorPrinter(issuer);
  return [
    rootRoute(issuer, brandings),
    {
      method: "GET",
      path: "/metrics",
      essential: true,
      print,
      openapi: () => publicOperation("System", "Metrics for Prometheus", { "200": textResponse("The metrics.") }),
      async answer(ctx) {
        const { text, contentType } = await exposition();
        noStore(ctx);
        ctx.set("Content-Type", contentType);
        ctx.body = text;
      },
    },
  ];
}

/** `GET /`: a page with links where the request prefers HTML, as a browser does, else a line of text. @see docs/protocol.md#system-endpoints */
function rootRoute(issuer: string, brandings: Brandings): Route {
  const site = siteOf(issuer, brandings);
  const greeting = `Countersign, an OAuth 2.1 and OpenID Connect authorization server.\nReference: ${issuer}/docs\n`;
  return {
    method: "GET",
    path: "/",
    print: apiErrorPrinter(issuer),
    openapi: () =>
      publicOperation("System", "A greeting; a page with links for browsers", { "200": { description: "A greeting.", content: CONTENT } }),
    answer(ctx: FrontContext) {
      ctx.vary("Accept");
      if (ctx.accepts("text", "html") === "html") return sendStart(askedOf({ site }, ctx));
      ctx.set("Content-Type", "text/plain; charset=utf-8");
      ctx.body = greeting;
    },
  };
}

const CONTENT = { "text/plain": { schema: { type: "string" } }, "text/html": { schema: { type: "string" } } } as const;

function sendStart(asked: Asked): void {
  const { site } = asked;
  const { title, lead, account, forDevelopers, ...words } = asked.texts.start;
  const links = [
    ["/docs", words.reference],
    ["/.well-known/oauth-authorization-server", words.oauth],
    ["/.well-known/openid-configuration", words.openid],
    ["/.well-known/jwks.json", words.keys],
  ] as const;
  const content = html`<section class="card links">
<h1>${title}</h1>
<p class="lead">${lead}</p>
${wideLink(site.path("/account"), account)}
<h2>${forDevelopers}</h2>
<ul>
${links.map(([path, label]) => html`<li><a href="${site.path(path)}">${label}</a></li>`)}
</ul>
</section>`;
  sendPage(asked, { title, content });
}
