import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { TokenRequestSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { aClient } from "../../support/builders.ts";
import { ask, memoryCore } from "../../support/memory-core.ts";

const A = "https://a.example.test";
const many = Array.from({ length: 11 }, (_, n) => `https://${n}.example.test`);
const ofLength = (length: number) => `${A}/${"x".repeat(length - A.length - 1)}`;

test.for<readonly [string, string[], readonly string[] | undefined]>([
  ["each once", [A, A], [A]],
  ["at most ten", many, many.slice(0, 10)],
  ["only what is a URI", ["notes-app", A, "two words"], [A]],
  ["only up to 2000 characters", [ofLength(2_000), ofLength(2_001)], [ofLength(2_000)]],
  ["none where none can be recorded", ["notes-app"], undefined],
])("the record of a refused request names the resources that it requested: %s", async ([, resource, resources]) => {
  const { core, writes } = await memoryCore({ clients: [aClient()] });
  const grant = { case: "clientCredentials", value: { scope: "not:allowed", resource } } as const;
  const client = { basic: { clientId: "notes-app", clientSecret: "the-secret" } };
  expect(await ask(core, "token", create(TokenRequestSchema, { client, grant }))).toEqual(["invalid_scope", "scope_not_allowed"]);
  const [[method, record] = []] = writes;
  expect([method, (record as { resources?: unknown } | undefined)?.resources]).toEqual(["audit.record", resources]);
});
