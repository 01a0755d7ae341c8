import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { tokenCore } from "../../src/core/service.ts";
import { TokenRequestSchema } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { freshEmbedded } from "../support/database.ts";
import { claimsOf } from "../support/flow.ts";
import { openLane, openWorld } from "./lane.ts";
import { Model } from "./model.ts";
import { opening } from "./steps.ts";

test("docs/protocol.md#lifetimes: a token from an exchange during which seconds pass does not outlive the subject token", async () => {
  const database = await freshEmbedded();
  try {
    const world = await openWorld(database.sql);
    const lane = await openLane(world, "ticking");
    const model = new Model(lane, await lane.begin());
    for (const step of opening) await step.apply(model);
    const { token: subjectToken = "", exp = 0 } = model.nodes[0] ?? {};
    let now = lane.clock.now() + 10;
    // Every read of the clock advances it by a second.
    const core = tokenCore({ ...world.ports, clock: () => now++ });
    const value = { subjectToken, subjectTokenType: "urn:ietf:params:oauth:token-type:access_token" };
    const client = { basic: { clientId: lane.agents[0] ?? "", clientSecret: "s" }, address: "192.0.2.1" };
    const request = create(TokenRequestSchema, { client, requestId: "r", grant: { case: "tokenExchange", value } });
    const { accessToken = "", expiresIn = 0 } = await core.token(request, {});
    const claims = claimsOf(accessToken);
    expect(claims.exp).toBe(exp);
    expect(claims.exp - claims.iat).toBe(expiresIn);
  } finally {
    await database.close();
  }
});
