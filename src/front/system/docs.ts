import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Brandings } from "../../branding/branding.ts";
import { loadOnce } from "../../load-once.ts";
import { TEXTS } from "../../texts/languages.ts";
import { apiErrorPrinter, pageHeaders, prepareDocument, sendDocument } from "../http/answers.ts";
import { json, publicOperation, text } from "../http/describe.ts";
import type { Route } from "../http/routes.ts";
import { sendPage, siteOf } from "../pages/views/layout.ts";
import type { ApiDescription } from "./api-description.ts";

export interface DocsOptions {
  readonly issuer: string;
  readonly brandings: Brandings;
  readonly describe: () => Promise<object>;
}

/** `/docs` and `/openapi.json`. The description is made on the first request. */
export function docsRoutes({ issuer, brandings, describe }: DocsOptions): readonly Route[] {
  const print = apiErrorPrinter(issuer);
  const writing = { site: siteOf(issuer, brandings), language: "en", texts: TEXTS.en } as const; // as the description
  const page = loadOnce(async () => {
    const { referenceView } = await import("./reference.ts");
    const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }; // our own file
    return referenceView(writing.site, (await describe()) as ApiDescription, version); // made by openApiDocument
  });
  const description = loadOnce(async () => prepareDocument(JSON.stringify(await describe()), "application/json"));
  return [
    {
      method: "GET",
      path: "/docs",
      print,
      openapi: () => publicOperation("System", "This reference", { "200": text("A page.", "text/html") }),
      answer: async (ctx) => sendPage({ ...writing, ctx }, await page()),
    },
    {
      method: "GET",
      path: "/openapi.json",
      print,
      cors: true,
      openapi: () =>
        publicOperation("System", "This description", { "200": json("OpenAPI 3.1.", openApi()), "304": { description: "Not changed." } }),
      async answer(ctx) {
        pageHeaders(ctx);
        ctx.remove("Pragma");
        sendDocument(ctx, await description());
      },
    },
  ];
}

const openApi = () => z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }).meta({ id: "ApiDescription" });
