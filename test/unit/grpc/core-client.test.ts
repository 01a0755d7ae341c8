import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOGUE, Refusal, type RefusalCode } from "../../../src/errors.ts";
import { tokenRoute } from "../../../src/front/oauth/token.ts";
import { type RemoteTokenCore, remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { type GrpcListener, startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { ISSUER, postForm, startFront } from "../../support/front.ts";
import { clientCredentials, FULL_DETAIL, keptLog, smallCore } from "./small-core.ts";

const ROUTE = { issuer: ISSUER, grantTypes: ["client_credentials"] as const, trustsPlatforms: async () => false };
const SECRET = "a-shared-secret-of-the-front-and-the-core";

describe("a core in another process", () => {
  const { implementation } = smallCore();
  const faults: unknown[] = [];
  let listener: GrpcListener;
  let core: RemoteTokenCore;
  beforeAll(async () => {
    listener = await startGrpcListener({
      host: "127.0.0.1",
      port: 0,
      core: localTokenCore(implementation),
      fronts: { secret: SECRET },
      onFault: (fault) => faults.push(fault),
    });
    core = remoteTokenCore({ url: `http://127.0.0.1:${listener.port}`, secret: SECRET });
  });
  afterAll(async () => {
    await core.close();
    await listener.close(1);
  });

  test("answers every method like a core in this process", async () => {
    const near = localTokenCore(implementation);
    expect(await core.token(clientCredentials("me"))).toEqual(await near.token(clientCredentials("me")));
    expect(await core.validateAuthorization({ request: { clientId: "c" } })).toEqual(
      await near.validateAuthorization({ request: { clientId: "c" } }),
    );
    expect(await core.issueCode({ userId: "u" })).toEqual(await near.issueCode({ userId: "u" }));
    expect(await core.loginTokens({ userId: "u" })).toEqual(await near.loginTokens({ userId: "u" }));
    expect(await core.verifyAccessToken({ accessToken: "t" })).toEqual(await near.verifyAccessToken({ accessToken: "t" }));
    expect(await core.resolveClient({ clientId: "c" })).toEqual(await near.resolveClient({ clientId: "c" }));
    expect(await core.publicKeys({})).toEqual(await near.publicKeys({}));
    expect(await core.revoke({ token: "t" })).toEqual(await near.revoke({ token: "t" }));
    const question = { client: { basic: { clientId: "rs", clientSecret: "rs-secret:+ü" } }, tokens: ["live-x", "y"] };
    expect(await core.introspect(question)).toEqual(await near.introspect(question));
    expect(await core.ready()).toBe(true);
  });

  test("docs/protocol.md#releases-beside-each-other: the answer of a core that reads no proofs is refused where one was sent", async () => {
    const front = await startFront({
      routes: [tokenRoute({ ...ROUTE, core })],
    });
    const ask = (headers: Record<string, string>) =>
      postForm(`${front.url}/oauth/token`, { grant_type: "client_credentials", client_id: "me" }, headers).then((answer) => answer.json());
    try {
      expect(await ask({})).toMatchObject({ access_token: "live-me", token_type: "Bearer" });
      expect(await ask({ dpop: "a proof" })).toEqual({ error: "invalid_request", error_description: expect.stringContaining("DPoP") });
    } finally {
      await front.close();
    }
  });

  test.for(Object.keys(CATALOGUE) as RefusalCode[])("%s is transmitted with its public details and without its reason", async (code) => {
    const refusal = await core.token(clientCredentials(code)).catch((thrown: unknown) => thrown);
    expect(refusal).toBeInstanceOf(Refusal);
    const { cause: _, ...detail } = (refusal as Refusal).detail;
    expect([(refusal as Refusal).code, (refusal as Refusal).reason, detail]).toEqual([code, "refused_by_core", FULL_DETAIL]);
  });

  test("throws an error without its text for a fault of the core", async () => {
    const fault = await core.token(clientCredentials("fault")).catch((thrown: unknown) => thrown);
    expect(fault).toBeInstanceOf(Error);
    expect(fault).not.toBeInstanceOf(Refusal);
    expect(inspect(fault)).not.toContain("hunter2");
    expect(String(faults[0])).toContain("hunter2");
  });

  test.for([
    ["no credential", undefined],
    ["another secret", "another"],
  ] as const)("refuses a front with %s, which answers its clients 503, and reports that it is not admitted", async ([, secret]) => {
    const { log, lines } = keptLog();
    const stranger = remoteTokenCore({ url: `http://127.0.0.1:${listener.port}`, secret }, undefined, undefined, log);
    const front = await startFront({ routes: [tokenRoute({ ...ROUTE, core: stranger })] });
    try {
      const answer = await postForm(`${front.url}/oauth/token`, { grant_type: "client_credentials", client_id: "me" });
      // An error of the operator's configuration, and never the client's own.
      expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([
        503,
        "5",
        { error: "temporarily_unavailable" },
      ]);
      expect(await stranger.ready()).toBe(false);
      expect(lines).toEqual([["core_away", { reason: "front_not_admitted" }]]);
    } finally {
      await front.close();
      await stranger.close();
    }
  });
});
