import { localWithRevocations } from "@countersign/guard/grpc";
import { expect, onTestFinished } from "vitest";
import { CRM, test } from "../support/delegation.ts";
import { guardFor } from "../support/guard-modes.ts";
import { refusalOf } from "../support/guard-refusal.ts";

test("a guard that is told of revocations refuses a delegated token at once when what it came of ends", async ({ server }) => {
  const access = { address: `http://${server.grpc}`, clientId: "crm-rs", clientSecret: "crm-rs-secret" };
  const guard = guardFor(server, { resource: CRM, verification: localWithRevocations({ ...access, whenStale: "refuse" }) });
  onTestFinished(() => guard.close());
  const { person, accessTokens, refreshToken } = await server.chainOf(["agent-1"]);
  const delegated = accessTokens.at(-1)!;
  expect(await guard.verifyToken(delegated)).toMatchObject({ sub: person.id, clientId: "agent-1", actors: ["agent-1"] });
  await server.revoke(server.clients.web, refreshToken);
  expect(await refusalOf(() => guard.verifyToken(delegated))).toEqual(["invalid_token", "token_inactive"]);
});
