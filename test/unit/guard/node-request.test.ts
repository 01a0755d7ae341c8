import { createServer, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createGuard } from "../../../guard-sdk/src/index.ts";
import { protect } from "../../../guard-sdk/src/node.ts";
import { listen } from "../../support/guard-issuer.ts";

const guard = createGuard({ resource: "https://notes.example", authorizationServers: ["https://as.example"] });

test.for([
  "/.well-known/oauth-protected-resource",
  "http://notes.example/.well-known/oauth-protected-resource",
  "HTTPS://notes.example:443/.well-known/oauth-protected-resource?a=b",
])("RFC 9112 §3.2.2: serves the metadata document for the request target %s", async (path) => {
  const { origin, close } = await listen(createServer(protect(guard, () => undefined)));
  onTestFinished(close);
  const body = await new Promise<string>((resolve, reject) => {
    request(origin, { path }, (response) => resolve(text(response)))
      .on("error", reject)
      .end();
  });
  expect(JSON.parse(body || "{}")).toEqual(guard.metadata);
});
