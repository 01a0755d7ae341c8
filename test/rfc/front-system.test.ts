import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import type { Lifecycle } from "../../src/front/http/steps.ts";
import { introspectRoute } from "../../src/front/oauth/introspect.ts";
import { type RegisterRouteOptions, registerRoute } from "../../src/front/oauth/register.ts";
import { revokeRoute } from "../../src/front/oauth/revoke.ts";
import { tokenRoute } from "../../src/front/oauth/token.ts";
import { userinfoRoutes } from "../../src/front/oauth/userinfo.ts";
import { docsRoutes } from "../../src/front/system/docs.ts";
import { type HealthOptions, healthRoutes, systemRoutes } from "../../src/front/system/health.ts";
import { openApiDocument } from "../../src/front/system/openapi.ts";
import type { UserPorts } from "../../src/front/user-ports.ts";
import { userRoutes } from "../../src/front/user-routes.ts";
import { aBrandings } from "../support/builders.ts";
import { coreWith } from "../support/fake-core.ts";
import { ISSUER, startFront, type TestFront } from "../support/front.ts";

interface World {
  readonly front: TestFront;
  readonly life: Lifecycle;
}

const up = async () => true;
const down = async () => false;
const failing = async (): Promise<boolean> => {
  throw new Error("connection refused");
};
const hanging = () => new Promise<boolean>(() => {});

const ALL_UP = { issuer: ISSUER, database: up, redis: up, core: up, clock: () => undefined, diskIsFull: () => false };

async function withProbes(probes: Partial<Omit<HealthOptions, "issuer" | "lifecycle">>, run: (world: World) => Promise<void>) {
  const life: Lifecycle = { draining: false };
  const routes = healthRoutes({ ...ALL_UP, ...probes, lifecycle: life });
  const front = await startFront({ routes, lifecycle: life });
  try {
    await run({ front, life });
  } finally {
    await front.close();
  }
}

const health = async ({ front }: World) => {
  const response = await fetch(`${front.url}/health`);
  return [response.status, await response.json()];
};

describe("health", () => {
  test("returns 200 ok while every service is connected", () =>
    withProbes({}, async (world) => {
      expect(await health(world)).toEqual([
        200,
        { status: "ok", services: { database: "connected", redis: "connected", core: "connected" } },
      ]);
    }));

  test("returns 200 degraded without Redis", () =>
    withProbes({ redis: failing }, async (world) => {
      expect(await health(world)).toMatchObject([200, { status: "degraded", services: { redis: "disconnected" } }]);
    }));

  test.for([["database"], ["core"]] as const)("returns 503 error without the %s, and says when to look again", ([name]) =>
    withProbes({ [name]: down }, async (world) => {
      expect((await fetch(`${world.front.url}/health`)).headers.get("retry-after")).toBe("5");
      expect(await health(world)).toMatchObject([503, { status: "error", services: { [name]: "disconnected" } }]);
    }),
  );

  test("returns 503 while a service hangs, and /health/live returns 200", () =>
    withProbes({ database: hanging }, async (world) => {
      expect(await health(world)).toMatchObject([503, { services: { database: "disconnected", redis: "connected" } }]);
      expect((await fetch(`${world.front.url}/health/live`)).status).toBe(200);
    }));

  test.for(["corrected", "uncertain"] as const)("says that a wrong clock is %s", (clock) =>
    withProbes({ clock: () => clock }, async (world) => {
      expect(await health(world)).toMatchObject([200, { status: "ok", clock }]);
    }),
  );

  test("says that the disk is full", () =>
    withProbes({ database: down, diskIsFull: () => true }, async (world) => {
      expect(await health(world)).toMatchObject([503, { status: "error", disk: "full" }]);
    }));

  test("returns 503 while draining, although every service is connected", () =>
    withProbes({}, async (world) => {
      world.life.draining = true;
      expect(await health(world)).toMatchObject([503, { status: "draining" }]);
      const live = await fetch(`${world.front.url}/health/live`);
      expect([live.status, live.headers.get("connection")]).toEqual([200, "keep-alive"]);
      world.life.leaving = true;
      expect((await fetch(`${world.front.url}/health/live`)).headers.get("connection")).toBe("close");
    }));

  test("probes a service once for 20 concurrent requests", async () => {
    let looks = 0;
    const counting = async () => {
      looks += 1;
      return true;
    };
    await withProbes({ database: counting }, async (world) => {
      await Promise.all(Array.from({ length: 20 }, () => health(world)));
      expect(looks).toBe(1);
    });
  });
});

describe("greeting, metrics and reference", () => {
  let front: TestFront;
  beforeAll(async () => {
    const exposition = async () => ({ contentType: "text/plain; version=0.0.4; charset=utf-8", text: "up 1\n" });
    const options = { core: coreWith({}), issuer: ISSUER, grantTypes: [], trustsPlatforms: async () => false };
    const described = [
      tokenRoute(options),
      introspectRoute(options),
      revokeRoute(options),
      ...userinfoRoutes(options),
      registerRoute({ issuer: ISSUER } as RegisterRouteOptions),
      ...userRoutes({ issuer: ISSUER } as UserPorts),
      ...healthRoutes({ ...ALL_UP, lifecycle: { draining: false } }),
    ];
    const describeApi = async () => openApiDocument(ISSUER, described);
    front = await startFront({
      routes: [
        ...systemRoutes({ issuer: ISSUER, brandings: aBrandings(), exposition }),
        ...docsRoutes({ issuer: ISSUER, brandings: aBrandings(), describe: describeApi }),
      ],
    });
  });
  afterAll(() => front.close());

  test("/ returns a text that names Countersign", async () => {
    const response = await fetch(front.url);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(await response.text()).toContain("Countersign");
  });

  test("/ is a page with links where the request prefers HTML, in the browser's language", async () => {
    const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const response = await fetch(front.url, { headers: { accept, "accept-language": "de" } });
    const { headers } = response;
    expect([headers.get("content-type"), headers.get("content-language")]).toEqual(["text/html; charset=utf-8", "de"]);
    expect(headers.get("vary")).toBe("Accept, Accept-Language, Cookie");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    const page = await response.text();
    expect(page).toContain("Anmeldedienst");
    const links = [...page.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, path]) => path);
    expect(new Set(links)).toEqual(
      new Set([
        "/account",
        "/docs",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/.well-known/jwks.json",
      ]),
    );
  });

  test.for(["*/*", "application/json", "text/plain, text/html;q=0.5"])("/ remains a text for Accept: %s", async (accept) => {
    const response = await fetch(front.url, { headers: { accept } });
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  test("browsers are kept to https where the issuer is https, and nowhere else", async () => {
    const secure = await startFront({
      issuer: "https://id.example.test",
      routes: systemRoutes({ issuer: ISSUER, brandings: aBrandings(), exposition: async () => ({ contentType: "text/plain", text: "" }) }),
    });
    const sent = async (url: string) => (await fetch(url)).headers.get("strict-transport-security");
    expect([await sent(secure.url), await sent(`${secure.url}/unknown`), await sent(front.url)]).toEqual([
      "max-age=31536000",
      "max-age=31536000",
      null,
    ]);
    await secure.close();
  });

  test("/metrics returns the exposition with its media type", async () => {
    const response = await fetch(`${front.url}/metrics`);
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["text/plain; version=0.0.4; charset=utf-8", "up 1\n"]);
  });

  test("/docs is a page that may send requests to this server alone, in the look of the other pages, with OAuth first and the version of the software", async () => {
    const response = await fetch(`${front.url}/docs`);
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*script-src 'self'; .*connect-src 'self'$/);
    const page = await response.text();
    expect(page.match(/<script(?! type="module" src="\/assets\/\w+\.[0-9a-f]{16}\.js"><\/script>)/g)).toBeNull();
    expect([...page.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id)[0]).toBe("oauth");
    expect(page).toContain(`Server ${manifest.version}, API 1.0.0.`);
    expect(page).toContain("<code>/oauth/token</code>");
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.filter((id) => !ids.has(id))).toEqual([]);
    expect(links.length).toBeGreaterThan(10);
  });

  test("/openapi.json is revalidated by ETag", async () => {
    const { headers } = await fetch(`${front.url}/openapi.json`);
    expect(headers.get("cache-control")).toBe("no-cache");
    const again = await fetch(`${front.url}/openapi.json`, { headers: { "if-none-match": headers.get("etag") ?? "" } });
    expect([again.status, again.headers.get("cache-control")]).toEqual([304, "no-cache"]);
  });

  test("/openapi.json is OpenAPI 3.1.0, version 1.0.0, with every path", async () => {
    const document = await (await fetch(`${front.url}/openapi.json`)).json();
    expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "1.0.0" }, servers: [{ url: ISSUER }] });
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        "/oauth/token",
        "/oauth/introspect",
        "/oauth/revoke",
        "/oauth/userinfo",
        "/oauth/register",
        "/oauth/authorize",
        "/health",
        "/auth/login",
        "/consents/",
      ]),
    );
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? "");
    expect(references.length).toBeGreaterThan(10);
    for (const name of references) expect(document.components.schemas).toHaveProperty(name);
    // Each component is a JSON Schema that can be read back.
    for (const schema of Object.values(document.components.schemas)) {
      expect(() => z.fromJSONSchema({ ...(schema as object), components: undefined } as never)).not.toThrow();
    }
  });
});
