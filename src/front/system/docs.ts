import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { z } from "zod";
import { loadOnce } from "../../load-once.ts";
import { json, text } from "../http/describe.ts";
import { apiErrorPrinter } from "../http/errors.ts";
import { type PreparedDocument, pageHeaders, prepareDocument, sendDocument } from "../http/headers.ts";
import type { Handler, Route } from "../http/routes.ts";

/** Only content of this server. Styles that the script sets on elements need no permission. */
const POLICY = "default-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'";

/** Links are relative, so that the page works below any path of a proxy. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Countersign API reference</title>
<link rel="icon" href="docs/favicon.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<main id="reference"><noscript>This page needs JavaScript. The description itself is at <a href="openapi.json">openapi.json</a>.</noscript></main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `window.addEventListener("load", () => {
  window.SwaggerUIBundle({ url: "openapi.json", dom_id: "#reference", deepLinking: true, validatorUrl: null });
});
`;

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** `/docs` with its files, and `/openapi.json`. Files are read and the description is made on the first request. */
export function docsRoutes({ issuer, describe }: { readonly issuer: string; readonly describe: () => Promise<object> }): readonly Route[] {
  const print = apiErrorPrinter(issuer);
  const serve = (make: () => Promise<PreparedDocument>): Handler => {
    const document = loadOnce(make);
    return async (ctx) => {
      pageHeaders(ctx, POLICY);
      ctx.remove("Pragma");
      sendDocument(ctx, await document());
    };
  };
  const route = (path: string, make: () => Promise<PreparedDocument>): Route => ({ method: "GET", path, print, answer: serve(make) });
  const packaged = (path: string, name: string, type: string) => route(path, async () => prepareDocument(await readPackaged(name), type));
  return [
    {
      ...route("/docs", async () => prepareDocument(PAGE, HTML)),
      openapi: () => ({ tags: ["System"], summary: "This reference", security: [], responses: { "200": text("A page.", "text/html") } }),
    },
    route("/docs/start.js", async () => prepareDocument(START, SCRIPT)),
    packaged("/docs/swagger-ui.css", "swagger-ui.css", "text/css; charset=utf-8"),
    // Without the charset the script does not parse.
    packaged("/docs/swagger-ui-bundle.js", "swagger-ui-bundle.js", SCRIPT),
    packaged("/docs/favicon.png", "favicon-32x32.png", "image/png"),
    {
      ...route("/openapi.json", async () => prepareDocument(JSON.stringify(await describe()), "application/json")),
      cors: true,
      openapi: () => ({
        tags: ["System"],
        summary: "This description",
        security: [],
        responses: { "200": json("OpenAPI 3.1.", openApi()) },
      }),
    },
  ];
}

const readPackaged = (name: string): Promise<Buffer> => readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`));

const openApi = () => z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }).meta({ id: "ApiDescription" });
