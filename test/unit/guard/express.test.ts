import { createServer } from "node:http";
import { expect, test } from "vitest";
import { protect } from "../../../guard-sdk/src/express.ts";
import { createGuard } from "../../../guard-sdk/src/index.ts";
import { GuardRefusal } from "../../../guard-sdk/src/refusal.ts";
import { listen } from "../../support/guard-issuer.ts";

test("hands on an error when a timeout has answered the request while its token was verified", async () => {
  const { promise: error, resolve: handOn } = Promise.withResolvers<unknown>();
  const answered = Promise.withResolvers<void>();
  const verify = async () => {
    await answered.promise;
    throw new GuardRefusal("invalid_token", "token_inactive");
  };
  const guard = createGuard({
    resource: "https://notes.example",
    authorizationServers: ["https://as.example"],
    verification: () => ({ verify, close: () => undefined }),
  });
  const middleware = protect(guard);
  const server = createServer((request, response) => {
    middleware(request, response, handOn);
    response.writeHead(504).end(() => answered.resolve());
  });
  const { origin, close } = await listen(server);
  const response = await fetch(origin, { headers: { authorization: "Bearer x" } });
  expect([response.status, await error]).toEqual([504, expect.objectContaining({ code: "ERR_HTTP_HEADERS_SENT" })]);
  await close();
});
